"""A float that changes is one of the graph for operations that decide nothing by it."""

import torch
import torch.nn.functional as F

GRAPHS = 2
SNAPSHOT = False


def fn(x, a):
    y = F.softplus(x, threshold=a) + F.leaky_relu(x, a) + torch.constant_pad_nd(x, (0, 0), a)
    return y, x.index_fill(0, torch.tensor([0]), a), F.hardshrink(x, a)


def calls():
    return [(torch.arange(6.0).sin(), n / 4) for n in range(1, 6)]

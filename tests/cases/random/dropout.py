"""Random ops use the generator as eager does."""

import torch
import torch.nn.functional as F

GRAPHS = 1


def fn(x):
    a = F.dropout(x, 0.5, training=True)
    b = torch.rand(2)
    c = torch.randn_like(x)
    d = torch.bernoulli(torch.full((4,), 0.5))
    return a, b, c, d, torch.randint(0, 10, (3,)), torch.randperm(5)


def inputs():
    return (torch.ones(8),)

"""torch.nn.functional."""

import torch
import torch.nn.functional as F

GRAPHS = 1


def fn(x, w):
    return (
        F.relu(x),
        F.softmax(x, dim=-1),
        F.linear(x, w),
        F.gelu(x, approximate="tanh"),
        F.layer_norm(x, (4,)),
        F.pad(x, (1, 1)),
        F.cross_entropy(x, torch.tensor([0, 1])),
        F.one_hot(torch.tensor([0, 2]), 3),
        F.embedding(torch.tensor([1, 0]), w),
    )


def inputs():
    return torch.randn(2, 4), torch.randn(3, 4)

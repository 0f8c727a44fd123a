"""In-place ops on inputs, their views and their results."""

import torch

GRAPHS = 1


def fn(x, y):
    x += 1
    x.mul_(y)
    z = x[0]
    z.fill_(7)
    torch.relu_(y)
    return x.sum(), z


def inputs():
    return torch.randn(3, 2), torch.randn(2)

"""In-place changes of inputs, and through views of them."""

import torch

GRAPHS = 1


def fn(x, y):
    x.add_(1)
    v = y[0]
    v.mul_(2)
    return x, v, x * 2


def inputs():
    return torch.randn(3), torch.randn(2, 2)

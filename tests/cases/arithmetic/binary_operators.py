"""All binary operators on float tensors."""

import torch

GRAPHS = 1


def fn(x, y):
    return x + y, x - y, x * y, x / y, x // y, x % y, x**2, y @ x


def inputs():
    return torch.randn(4, 4), torch.rand(4, 4) + 0.5

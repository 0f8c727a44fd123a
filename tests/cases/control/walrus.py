"""Assignment expressions."""

import torch

GRAPHS = 1


def fn(x, items):
    if (n := len(items)) > 2:
        x = x * n
    while (n := n - 1) > 0:
        x = x + n
    return x, n


def inputs():
    return torch.ones(2), [1, 2, 3]

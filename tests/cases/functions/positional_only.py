"""Parameters before `/`."""

import torch

GRAPHS = 1


def helper(a, b, /, c, *, d=4):
    return a + b * c - d


def fn(x):
    return helper(x, 2, 3), helper(x, 2, c=5, d=6)


def inputs():
    return (torch.randn(3),)

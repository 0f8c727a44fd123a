"""A helper function becomes part of the graph."""

import torch

GRAPHS = 1


def helper(a, b):
    return a * b + 1


def fn(x, y):
    return helper(helper(x, y), y)


def inputs():
    return torch.randn(3), torch.randn(3)

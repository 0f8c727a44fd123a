"""A number on the left of a tensor."""

import torch

GRAPHS = 1


def fn(x):
    return 1 + x, 2 - x, 3 * x, 4 / x, 5 // x, 6 % x, 2**x


def inputs():
    return (torch.rand(5) + 0.5,)

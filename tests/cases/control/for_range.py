"""A loop over a range is unrolled."""

import torch

GRAPHS = 1


def fn(x, n):
    for i in range(n):
        x = x + i
    for i in range(10, 0, -3):
        x = x * i
    return x, i


def inputs():
    return torch.ones(2), 3

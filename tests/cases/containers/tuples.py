"""Tuples: build, index, slice, join, repeat, compare."""

import torch

GRAPHS = 1


def fn(x, y):
    t = (x, y, 3)
    u = t + (4,)
    v = (1, 2) * 2
    return u[0] + u[-1], u[1:], u[::-1], v, len(u), (1, 2) < (1, 3), v.index(2), v.count(1)


def inputs():
    return torch.randn(2), torch.randn(2)

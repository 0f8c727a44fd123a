"""A slice object made in the function, and one given to it."""

import torch

GRAPHS = 1


def fn(x, s):
    t = slice(1, None, 2)
    return x[s], x[t], [1, 2, 3, 4][t], t.start, t.step, (0, 1, 2, 3)[s]


def inputs():
    return torch.arange(6), slice(0, 2)

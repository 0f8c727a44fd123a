"""`x.set_(other)` gives an argument the memory and the layout of another tensor."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2
SNAPSHOT = False


def fn(x, y):
    z = y * 2
    x.set_(z[:1])
    y.set_(source=z)
    return x + 1, y * 3


def inputs():
    return torch.ones(3, 4), torch.arange(12.0).reshape(4, 3)

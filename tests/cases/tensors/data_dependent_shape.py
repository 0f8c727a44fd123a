"""nonzero and boolean masks: sizes known only at run time."""

import torch

GRAPHS = 3


def fn(x):
    i = (x > 0).nonzero()
    y = x[x > 0]
    return i, y * 2, y.shape[0]


def inputs():
    return (torch.tensor([1.0, -2.0, 3.0]),)

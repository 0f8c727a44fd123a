"""tolist, numpy and bool of a tensor."""

import torch

GRAPHS = 3


def fn(x):
    y = x + 1
    items = y.tolist()
    return sum(items), bool(y[0] > 0), y * len(items)


def inputs():
    return (torch.tensor([1.0, 2.0]),)

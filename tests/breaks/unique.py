"""`unique`, whose result's size depends on the data."""

import torch


def fn(x):
    _values, counts = x.round().unique(return_counts=True)
    return counts.max() + x


def instead(x):
    rounded = x.round()
    return (rounded[:, None] == rounded).sum(1).max() + x


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""A selection by a mask, whose size depends on the data."""

import torch


def fn(x):
    return x[x > 0].sum()


def instead(x):
    return torch.where(x > 0, x, 0.0).sum()


def inputs():
    return (torch.linspace(-1, 2, 4),)

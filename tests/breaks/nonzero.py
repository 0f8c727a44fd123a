"""`nonzero` and others whose result's size depends on the data."""

import torch


def fn(x):
    return x.nonzero().shape[0] + x


def instead(x):
    return (x != 0).sum() + x


def inputs():
    return (torch.linspace(-1, 2, 4),)

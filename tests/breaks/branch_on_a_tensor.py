"""A branch on the value of a tensor."""

import torch


def fn(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def instead(x):
    return torch.where(x.sum() > 0, x * 2, x - 1)


def inputs():
    return (torch.linspace(-1, 2, 4),)

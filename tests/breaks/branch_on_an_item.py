"""A branch on a number that is read from a tensor."""

import torch


def fn(x):
    largest = x.max().item()
    return x / largest if largest > 1 else x


def instead(x):
    return x / x.max().clamp(min=1)


def inputs():
    return (torch.linspace(-1, 2, 4),)

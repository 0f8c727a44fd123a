"""The values of a tensor as a list."""

import torch


def fn(x):
    total = 0.0
    for value in x.tolist():
        if value > 0:
            total += value
    return x + total


def instead(x):
    return x + x.relu().sum()


def inputs():
    return (torch.linspace(-1, 2, 4),)

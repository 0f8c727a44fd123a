"""A loop over the rows of a tensor."""

import torch

GRAPHS = 1


def fn(x):
    total = 0
    for row in x:
        total = total + row * 2
    return total


def inputs():
    return (torch.randn(3, 2),)

"""print of a value that the graph computes waits until the graph has run."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2


def fn(x):
    y = x + 1
    print(y, end=";")
    return y * 2


def inputs():
    return (torch.ones(2),)

"""A list that holds itself."""

import torch

GRAPHS = 1


def fn(x):
    a = [x + 1]
    a.append(a)
    return a


def inputs():
    return (torch.randn(2),)

"""Storing to subscripts of a tensor made in the function and of an input."""

import torch

GRAPHS = 1


def fn(x, y):
    z = torch.zeros(3, 3)
    z[0] = 1
    z[:, 1] = y
    z[1, 2] = y[0]
    x[0] = 5
    x[1:] += 1
    return z, x.sum()


def inputs():
    return torch.randn(3), torch.randn(3)

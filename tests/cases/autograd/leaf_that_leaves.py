"""A tensor made inside becomes a leaf and leaves: a graph that runs as it is gives it out."""

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    y = (x * 2).requires_grad_()
    z = y * 3
    return z, y.sum().detach()


def inputs():
    return (torch.arange(4.0),)

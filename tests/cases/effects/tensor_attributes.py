"""An attribute put on a tensor."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1
    y.note = "made here"
    return y, y.note


def inputs():
    return (torch.ones(2),)


BACKWARD = False

"""Inputs that shared no memory at first do so later, and the graph writes to one."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


def fn(x, y):
    x.add_(1)
    z = y * 2
    x.mul_(3)
    return z + x, y


def calls():
    base = torch.arange(4.0)
    return [
        (torch.ones(3), torch.zeros(3)),
        (base[:3], base[1:]),
        (torch.ones(3), torch.zeros(3)),
    ]

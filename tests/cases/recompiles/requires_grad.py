"""A tensor that requires grad, and one that does not."""

import torch

GRAPHS = 2


def fn(x):
    return x * 2


def calls():
    a = torch.ones(2)
    b = torch.ones(2, requires_grad=True)
    return [(a,), (b,), (a,)]

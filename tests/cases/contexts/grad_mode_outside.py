"""The caller's grad mode: each has its own compiled code."""

import torch

GRAPHS = 2


def before(index):
    torch.set_grad_enabled(index != 1)


def fn(x):
    return x * 2


def calls():
    x = torch.ones(2, requires_grad=True)
    return [(x,), (x,), (x,)]

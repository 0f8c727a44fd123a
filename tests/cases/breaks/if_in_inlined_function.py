"""A branch on a tensor two calls deep."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 7
BYTECODE = True


def inner(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 2


def middle(x):
    z = x * 3
    w = inner(z)
    return w + z


def fn(x):
    a = x - 1
    return middle(a) * a


def calls():
    return [(torch.ones(2) * 5,), (torch.ones(2) * -5,), (torch.ones(2) * 5,)]

"""Branches on tensors, one after the other."""

import torch

GRAPHS = 4
BYTECODE = True


def fn(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    if y.max() > 2:
        return y * 10
    return y


def calls():
    return [(torch.ones(2),), (-torch.ones(2),), (torch.zeros(2),), (torch.ones(2),)]

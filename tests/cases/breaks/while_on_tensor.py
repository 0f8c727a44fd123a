"""A while loop whose condition is a tensor."""

import torch

GRAPHS = 1
BYTECODE = True


def fn(x):
    n = 0
    while x.sum() < 10:
        x = x * 2
        n += 1
    return x, n


def calls():
    return [(torch.ones(2),), (torch.ones(2) * 20,), (torch.ones(2) * 3,)]

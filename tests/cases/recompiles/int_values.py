"""Each value of an int is a constant."""

import torch

GRAPHS = 3


def fn(x, n):
    return x + n


def calls():
    x = torch.ones(2)
    return [(x, 1), (x, 2), (x, 3), (x, 1), (x, 2)]

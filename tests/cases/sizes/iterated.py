"""Iterating over a dimension takes its size for a constant."""

import torch

GRAPHS = 4


def fn(x):
    total = sum(x[i] for i in range(x.shape[0]))
    return total, [row + 1 for row in x]


def calls():
    return [(torch.ones(n, 3),) for n in [5, 7, 2, 9]]

"""A graph that would only read the number that is needed next is none: plain Python reads it."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 5
SNAPSHOT = False


def fn(x, i, j):
    n, m = i.item(), j.tolist()
    if n > m:
        return x[:n] * m
    y = x[m:] + n
    if y.sum().item() > 100:
        return y * 3
    return y


def calls():
    return [(torch.ones(6), torch.tensor(n), torch.tensor(5 - n)) for n in (3, 4, 5, 2, 1)]

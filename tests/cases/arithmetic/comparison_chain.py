"""A chain of comparisons of numbers chooses a branch."""

import torch

GRAPHS = 3


def fn(x, n):
    if 0 < n <= 5 < 10:
        return x + n
    if n == 6 != 7:
        return x - n
    return x * n


def calls():
    x = torch.ones(2)
    return [(x, 3), (x, 6), (x, 9), (x, 3)]

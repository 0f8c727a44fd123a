"""Sizes as ints: arithmetic, results, items of a tuple, texts."""

import torch

GRAPHS = 2


def fn(x):
    n, m = x.shape
    return x * n, n * m == x.numel(), len(x) + 1, x.size(0) // 2, x.shape, x.reshape(-1).shape


def calls():
    return [(torch.ones(n, 4),) for n in [5, 7, 3, 9, 2, 12]]

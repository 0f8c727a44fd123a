"""Sizes live on behind a graph break, in inlined functions too."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 12
BYTECODE = True


def helper(x):
    n = x.shape[0]
    y = x + n
    print("rows", n)
    return y * n


def fn(x):
    half = x.shape[0] // 2
    y = helper(x)
    return y[:half], half, y.shape[0] + 1


def calls():
    return [(torch.ones(n, 3),) for n in [5, 7, 2, 9]]

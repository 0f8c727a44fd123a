"""An exception raised two calls deep."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


def deep(n):
    if n:
        raise KeyError("missing")


def helper(x, n):
    deep(n)
    return x * 2


def fn(x, n):
    y = x + 1
    return helper(y, n)


def calls():
    return [(torch.ones(2), 0), (torch.ones(2), 1)]

"""Stars in displays."""

import torch

GRAPHS = 1


def fn(x, items, table):
    a = [0, *items, *range(2)]
    b = (*items, x)
    c = {*items, 9}
    d = {"k": 0, **table, "z": 1}
    return x + len(a), a, b, c, d


def inputs():
    return torch.randn(2), (1, 2), {"k": 5}

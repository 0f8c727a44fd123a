"""Sizes that change are no constants under vmap: neither how many there are, nor those of each."""

import torch
from torch.func import vmap

# One for the first sizes, one for all others.
GRAPHS = 2
SNAPSHOT = False


def rows(row, w):
    return (row @ w).softmax(-1), row.new_zeros(row.size(0)) + row


def fn(x, y, w):
    by_row, halves = vmap(rows, in_dims=(0, None))(x, w)
    pairs = vmap(lambda a, b: a * b)(x, y)
    moved = vmap(lambda a: a.cumsum(0), in_dims=1, out_dims=1)(x)
    constant = vmap(lambda a: torch.ones(2))(x)
    nested = vmap(vmap(lambda a, b: (a + b).sin(), in_dims=(0, 0)), in_dims=(1, 1))(x, y)
    wide = vmap(lambda a: a.unsqueeze(0).expand(x.size(0), a.size(0)).sum(0))(x)
    return by_row, halves, pairs, moved, constant, nested, wide


def calls():
    sizes = [(3, 4), (5, 6), (7, 8), (9, 12), (2, 4)]
    torch.manual_seed(0)
    return [(torch.randn(n, m), torch.randn(n, m), torch.randn(m, 3)) for n, m in sizes]

"""Sizes that change are no constants for the function that `vjp` gives."""

import torch
from torch.func import vjp

# One for the first sizes, one for all others.
GRAPHS = 2
SNAPSHOT = False


def fn(x, w, t):
    out, pull = vjp(lambda a, b: (a @ b).sin(), x, w)
    first, second = pull(t)
    rows, pull_rows = vjp(lambda a: a.view(-1).cumsum(0), x)
    return out, first, second, pull_rows(rows)[0]


def calls():
    torch.manual_seed(0)
    sizes = [(3, 4), (5, 6), (7, 2), (9, 12), (2, 2)]
    return [(torch.randn(n, m), torch.randn(m, 3), torch.randn(n, 3)) for n, m in sizes]

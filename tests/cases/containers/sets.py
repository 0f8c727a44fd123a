"""Sets and their operators."""

import torch

GRAPHS = 1


def fn(x):
    a = {1, 2, 3}
    b = set([3, 4])
    a.add(5)
    a.discard(1)
    c = frozenset((1, 2))
    return x + len(a), a | b, a & b, a - b, a ^ b, 2 in a, a >= {2}, c, a.isdisjoint({9})


def inputs():
    return (torch.randn(2),)

"""`reversed` of a range gives an iterator of ranges, which may leave the function half used."""

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    half = reversed(range(1, 10, 3))
    first = next(half)
    kinds = [type(reversed(r)).__name__ for r in (range(3), range(0), range(5, 0, -2))]
    items = [list(reversed(r)) for r in (range(3), range(0), range(5, 0, -2), range(1, 10, 3))]
    return x * first, half, kinds, items, type(half)


def inputs():
    return (torch.ones(2),)

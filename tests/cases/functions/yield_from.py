"""`yield from` and a generator's return value."""

import torch

GRAPHS = 1


def inner(x):
    yield x
    yield x + 1
    return 7


def outer(x):
    n = yield from inner(x)
    yield x * n


def fn(x):
    return list(outer(x))


def inputs():
    return (torch.randn(2),)

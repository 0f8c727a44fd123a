"""`functools.lru_cache` counts its calls, gives the same object for the same arguments, and refuses
what has no hash."""

import functools

import torch

GRAPHS = 1


@functools.lru_cache
def scaled(n):
    return n * 2.5


@functools.lru_cache(maxsize=2)
def row(n, *, name="a"):
    return n, n + 1000, name, scaled(n)


class Thing:
    @functools.cache
    def next(self, n):
        return n + 1


thing = Thing()


@torch._dynamo.disable
def counts():
    return scaled.cache_info(), row.cache_info(), Thing.next.cache_info()


def fn(x):
    try:
        scaled([1])
    except TypeError as e:
        refused = str(e)
    y = x * scaled(3) + scaled(3) + row(1)[1] + row(2)[3] + row(n=3, name="b")[0] + row(1)[0]
    same = row(1) is row(1), scaled(5) is scaled(5), row(1) is row(2)
    y = y + thing.next(1) + thing.next(1)
    return y, refused, same, counts()


def inputs():
    return (torch.ones(2),)

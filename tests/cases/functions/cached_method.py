"""`functools.lru_cache` on a method binds like a function."""

import functools

import torch

GRAPHS = 1


class Thing:
    @functools.lru_cache
    def scale(self, n):
        return n * 2

    @functools.cache
    def plain(n):
        return n + 1


thing = Thing()


def fn(x):
    return x * thing.scale(3) + Thing.scale(thing, 4) + Thing.plain(1)


def inputs():
    return (torch.ones(2),)

"""A cache tells arguments that are named from those that have a place."""

import functools

import torch

GRAPHS = 1


@functools.lru_cache(maxsize=8)
def filled(*args, **named):
    return torch.full((2,), 10.0 * len(args) + len(named))


@functools.lru_cache(typed=True)
def typed(*args, **named):
    return torch.full((2,), 10.0 * len(args) + len(named))


def fn(x):
    y = x + filled(1, n=2) * filled(1, "m", "n", 2) + filled(1, m=3, n=2)
    return y + typed(1, n=2.0) * typed(1, "m", "n", 2) + typed(True, n=2), filled(2)


def inputs():
    for f in filled, typed:
        f.cache_clear()
        f(1, "m", "n", 2)
    filled(2).add_(1)
    return (torch.ones(2),)

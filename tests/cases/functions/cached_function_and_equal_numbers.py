"""`functools.lru_cache` takes 1, 1.0 and True for the same argument, unless it is told not to."""

import functools

import torch

GRAPHS = 1


@functools.lru_cache
def text(v):
    return str(v)


@functools.lru_cache(typed=True)
def typed(v):
    return str(v)


def fn(x):
    return x + 1, text(1), text(1.0), text(True), text(2.0), typed(1), typed(1.0), typed(True)


def inputs():
    return (torch.ones(2),)

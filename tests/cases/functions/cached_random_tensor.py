"""A cached function that draws random numbers draws them once."""

import functools

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 1


@functools.lru_cache
def noise(n):
    return torch.rand(n)


def fn(x):
    return x + noise(3), x + noise(3), noise(3)


def inputs():
    noise.cache_clear()
    torch.manual_seed(0)
    return (torch.ones(3),)

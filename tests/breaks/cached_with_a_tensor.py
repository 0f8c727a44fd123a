"""A function under `functools.lru_cache` that is called with a tensor."""

import functools

import torch


@functools.lru_cache
def scaled(x):
    return x * 2


def fn(x):
    return scaled(x) + 1


@functools.lru_cache
def factor():
    return 2


def instead(x):
    return x * factor() + 1


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""A decorator with functools.wraps around a helper."""

import functools

import torch

GRAPHS = 1


def twice(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(f(*args, **kwargs))

    return wrapper


@twice
def helper(x):
    return x * 2 + 1


def fn(x):
    return helper(x), helper.__name__


def inputs():
    return (torch.randn(2),)

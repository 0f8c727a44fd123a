"""functools.partial, nested and with keywords."""

import functools

import torch

GRAPHS = 1


def helper(a, b, c=0, *, d=1):
    return a * b + c * d


double = functools.partial(helper, 2)


def fn(x):
    p = functools.partial(double, c=3)
    return double(x), p(x), p(x, d=5), functools.partial(torch.add, alpha=2)(x, x)


def inputs():
    return (torch.randn(2),)

"""Lambdas in a list and as an argument."""

import torch

GRAPHS = 1


def apply(f, *args):
    return f(*args)


def fn(x):
    fs = [lambda a: a + 1, lambda a, b=2: a * b]
    return apply(fs[0], x), apply(fs[1], x), apply(lambda *a: a[0] - a[1], x, 1)


def inputs():
    return (torch.randn(2),)

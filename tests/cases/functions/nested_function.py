"""A function defined and called inside, reading a local that changes later."""

import torch

GRAPHS = 1


def fn(x):
    k = 2

    def inner(y):
        return y * k + x

    k = 3
    return inner(x), [f(x) for f in (inner, lambda z: z - k)]


def inputs():
    return (torch.randn(2),)

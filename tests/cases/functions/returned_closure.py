"""A closure made inside is the result, and works."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1

    def later(z):
        return y * z

    return later(x), later


def inputs():
    return (torch.randn(2),)


BACKWARD = False

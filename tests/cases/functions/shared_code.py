"""Two functions with one code object and different globals."""

import types

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def template(x):
    return x + offset  # noqa: F821


def make():
    one = types.FunctionType(template.__code__, {"offset": torch.ones(2)})
    two = types.FunctionType(template.__code__, {"offset": torch.zeros(2)})

    def run(x):
        return one(x), two(x)

    return run


def inputs():
    return (torch.ones(2),)

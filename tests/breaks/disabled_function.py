"""A call of a function that is marked with `torch.compiler.disable`."""

import torch


@torch.compiler.disable
def helper(x):
    return x * 2


def fn(x):
    return helper(x + 1).sin()


def plain_helper(x):
    return x * 2


def instead(x):
    return plain_helper(x + 1).sin()


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""A program that raises only because it was told that it is compiled runs as plain Python."""

import torch

GRAPHS = 1


def inner(x, mask):
    return x * mask.shape[0]


def fn(x, mask=None):
    if mask is None and not torch.compiler.is_compiling():
        mask = torch.ones(3)
    return inner(x + 1, mask)


def inputs():
    return (torch.ones(2),)

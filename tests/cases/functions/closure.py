"""A closure reads variables of its maker."""

import torch

GRAPHS = 1


def make():
    scale = 3
    shift = torch.ones(2)

    def fn(x):
        return x * scale + shift

    return fn


def inputs():
    return (torch.randn(2),)

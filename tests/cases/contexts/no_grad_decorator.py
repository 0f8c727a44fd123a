"""A helper decorated with no_grad."""

import torch

GRAPHS = 1


@torch.no_grad()
def helper(x):
    return x * 2


def fn(x):
    return helper(x) + x


def inputs():
    return (torch.ones(2, requires_grad=True),)

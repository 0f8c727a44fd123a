"""Default values, positional and keyword-only."""

import torch

GRAPHS = 1


def helper(a, b=2, *, c=3, d=None):
    return a * b + c if d is None else a + d


def fn(x):
    return helper(x), helper(x, 5), helper(x, c=7), helper(a=x, b=1, c=0), helper(x, d=x)


def inputs():
    return (torch.randn(3),)

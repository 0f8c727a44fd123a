"""A helper called with wrong arguments: the TypeError can be caught."""

import torch

GRAPHS = 1
REFERENCE_WRONG = "another text"


def helper(a, b):
    return a + b


def fn(x):
    y = x + 1
    try:
        return helper(y)
    except TypeError as e:
        return y, str(e)


def inputs():
    return (torch.randn(2),)

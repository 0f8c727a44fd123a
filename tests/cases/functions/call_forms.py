"""Stars and keywords at the call."""

import torch

GRAPHS = 1


def helper(a, b, c=1, d=2):
    return a + 2 * b + 3 * c + 4 * d


def fn(x):
    args = (x, 1)
    kw = {"d": 5}
    return helper(*args), helper(*args, **kw), helper(x, *[1, 2], **kw), helper(b=1, **{"a": x})


def inputs():
    return (torch.randn(2),)

"""Assignment to patterns, with and without a star."""

import torch

GRAPHS = 1


def fn(pair, items, x):
    a, b = pair
    first, *middle, last = items
    (c, d), e = (a, b), 3
    *init, tail = "abc"
    a, b = b, a
    p, q = x.unbind(0)
    return a + b * last + c - d * e, first, middle, init, tail, p - q


def inputs():
    return (torch.randn(2), torch.randn(2)), [1, 2, 3, 4], torch.randn(2, 3)

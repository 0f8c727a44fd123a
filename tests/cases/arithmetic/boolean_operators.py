"""`and`, `or` and `not` give one of their operands."""

import torch

GRAPHS = 1


def fn(x, a, b):
    c = a and b
    d = a or b
    e = not a
    f = a and not b or 7
    return x + (c or 1), c, d, e, f, x is not None and a is None


def inputs():
    return torch.randn(2), 0, 5

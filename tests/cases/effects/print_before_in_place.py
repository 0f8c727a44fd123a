"""A tensor that is printed and then written to: the text is that of before."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4


def fn(x, y):
    z = x + 1
    print("before", z, y)
    z.mul_(2)
    print("between", z)
    y[0] = 5
    print("after", z, y, x)
    return z + y


def inputs():
    return (torch.ones(2), torch.zeros(2))

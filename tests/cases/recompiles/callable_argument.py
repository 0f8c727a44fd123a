"""A function as an argument."""

import torch

GRAPHS = 2


def double(x):
    return x * 2


def negate(x):
    return -x


def fn(f, x):
    return f(x) + 1


def calls():
    x = torch.ones(2)
    return [(double, x), (negate, x), (double, x)]

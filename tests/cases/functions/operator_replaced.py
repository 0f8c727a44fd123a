"""A program puts a function of its own in the place of one of `operator`; operators stay."""

import operator

import torch

SNAPSHOT = False
GRAPHS = 1

PLAIN = operator.add


def hundredfold(a, b):
    return PLAIN(a, b) * 100


def before(i):
    operator.add = hundredfold


def fn(x, n):
    try:
        return operator.add(x, 1) + x, x.shape[0] + n
    finally:
        operator.add = PLAIN


def inputs():
    return torch.arange(3.0), 2

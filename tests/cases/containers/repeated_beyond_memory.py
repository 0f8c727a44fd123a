"""A sequence that is repeated more often than memory allows."""

import sys

import torch

GRAPHS = 0
REFERENCE_GRAPHS = 1


def in_place(items, n):
    items *= n
    return items


def fn(x):
    refused = []
    for repeat in (lambda v, n: v * n, in_place):
        try:
            repeat([1, 2], sys.maxsize)
        except (MemoryError, OverflowError) as e:
            refused.append(type(e))
    return x + len(refused), refused, in_place([], sys.maxsize)


def inputs():
    return (torch.ones(2),)

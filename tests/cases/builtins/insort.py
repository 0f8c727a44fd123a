"""`bisect.insort` into a list of the caller's, and into one of pairs."""

import bisect

import torch

GRAPHS = 1


def fn(x, found):
    bisect.insort(found, 3)
    bisect.insort_left(found, 3)
    pairs = [(1, "a"), (2, "b")]
    bisect.insort_right(pairs, (1, "b"))
    return x * len(found) + found[2], pairs


def inputs():
    return torch.ones(2), [1, 4]

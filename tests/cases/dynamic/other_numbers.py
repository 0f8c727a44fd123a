"""Bools, numpy's ints and subclasses of int are not taken for ints."""

import numpy
import torch

GRAPHS = 6


class Level(int):
    def __add__(self, other):
        return "added"

    def __mul__(self, other):
        return "multiplied"


def fn(x, n):
    return x + 1, n + 1, n * 2, n == 2, type(n).__name__, isinstance(n, int), n is None


def calls():
    x = torch.ones(2)
    values = [1, 2, 3, True, False, numpy.int64(4), Level(5), 2**70, 6, None and 1]
    return [(x, n) for n in values if n is not None]

"""Members of an enum of tuples are compared and looked up as tuples."""

import collections
import enum

import torch

GRAPHS = 1


class Pair(tuple, enum.Enum):
    A = (1, 2)
    B = (3, (4, "x"))


class Point(collections.namedtuple("Point", "x y"), enum.Enum):
    ORIGIN = (0, 0)


def fn(x):
    a, b = Pair.A, Pair.B
    compared = [a == (1, 2), (1, 2) == a, a != (1, 2), a < b, a < (1, 3), (0,) >= a, a == [1, 2]]
    found = [a in [(1, 2)], {(1, 2): 5}[a], {a: 6}.get((1, 2)), (3, (4, "x")) in {a, b}]
    return x + Point.ORIGIN.x, compared, found, Point.ORIGIN == (0, 0), a == Pair.B


def inputs():
    return (torch.ones(2),)

"""A function that is allowed in the graph gives a named tuple, of which the program takes items."""

from collections import namedtuple
from typing import NamedTuple

import torch

GRAPHS = 1
SNAPSHOT = False

Pair = namedtuple("Pair", "plus double")


class Nested(NamedTuple):
    pair: Pair
    half: torch.Tensor


@torch.compiler.allow_in_graph
def pair(x):
    return Pair(x + 1, x * 2)


@torch.compiler.allow_in_graph
def nested(x):
    return Nested(Pair(x - 1, x * 3), x / 2)


def fn(x):
    first = pair(x)
    inner, half = both = nested(x)
    kind = type(first) is Pair and isinstance(both, Nested)
    return first.plus * first.double + inner.double, half, kind, first, both


def inputs():
    return (torch.randn(3),)

"""A named tuple that iterates otherwise: C code of torch reads the items where they are."""

from typing import NamedTuple

import torch

BREAKS = []
GRAPHS = 1
REFERENCE_WRONG = "stacks what the iterator gives"
SNAPSHOT = False


class Pair(NamedTuple):
    first: object
    second: object


class Turned(Pair):
    def __iter__(self):
        yield self.second
        yield self.first


def fn(x):
    pair = Turned(x, x + 1)
    first, second = pair
    return torch.stack(pair), torch.stack([*pair]), torch.sub(*pair), first - second, pair


def inputs():
    return (torch.randn(3),)

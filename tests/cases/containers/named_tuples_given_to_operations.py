"""Named tuples as arguments of operations: nested ones and those of C too are plain to a graph."""

from typing import NamedTuple

import torch

BREAKS = []
GRAPHS = 1
SNAPSHOT = False


class Pair(NamedTuple):
    first: object
    second: object


def fn(x):
    sizes = x.new_zeros(Pair(2, 3)), x.expand(Pair(2, 3)), x.reshape(Pair(3, 1))
    joined = torch.stack(Pair(x, x + 1)), torch.cat(Pair(x, x))
    nested = torch.meshgrid([*Pair(x, x)], indexing="ij"), torch.tensor([Pair(1, 2), (3, 4)])
    of_c = torch.stack(x.reshape(3, 1).max(1)[:1] + torch.stack(x.reshape(3, 1).max(1)).unbind())
    return sizes, joined, nested, of_c, x[Pair(slice(1, 3), None)]


def inputs():
    return (torch.randn(3),)

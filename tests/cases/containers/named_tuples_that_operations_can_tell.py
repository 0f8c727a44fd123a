"""A named tuple that torch asks, or that its Python code walks, is given to it as it is."""

from typing import NamedTuple

import torch

GRAPHS = 1
REFERENCE_WRONG = "asks no tuple"
SNAPSHOT = False


class Pair(NamedTuple):
    first: object
    second: object


class Asked(Pair):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"


class Turned(Pair):
    def __iter__(self):
        return iter((self.second, self.first))


class Longer(Pair):
    def __len__(self):
        return 3


def attempt(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError, IndexError, RuntimeError) as e:
        return type(e).__name__, str(e)


def fn(x):
    return (
        attempt(torch.add, x, Asked(1, 2)),
        attempt(torch.einsum, "i,j->ij", Turned(x, x + 1)),
        attempt(torch.nn.functional.pad, x, Turned(1, 2)),
        attempt(torch.tensor, Longer(1, 2)),
        attempt(torch.stack, Pair(1, 2)),
        attempt(torch.add, x, Pair(1, 2)),
        attempt(lambda: x + Pair(1, 2)),
    )


def inputs():
    return (torch.randn(3),)

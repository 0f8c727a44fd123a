"""A look-up of a class's `__dict__` makes a proxy; its `__mro__` and `__bases__` are one tuple."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "has one proxy for a class"


class Thing:
    value = 3


class Other(Thing):
    pass


def fn(x):
    first = Thing.__dict__
    both = [first, first]
    return (
        x + first["value"],
        Thing.__dict__ is Thing.__dict__,
        first is Thing.__dict__,
        vars(Thing) is vars(Thing),
        first is both[1],
        first == Thing.__dict__,
        Other.__mro__ is Other.__mro__,
        Other.__bases__ is Other.__bases__,
        Other.__mro__,
        both,
    )


def inputs():
    return (torch.ones(2),)

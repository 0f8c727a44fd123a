"""A look-up of one name in an untouched `__dict__` depends on that name only."""

import torch

GRAPHS = 1


class Thing:
    def __init__(self):
        self.a = 1
        self.later = object()


thing = Thing()


def fn(x):
    d = thing.__dict__
    thing.b = 4
    if "a" in d and "c" not in thing.__dict__:
        x = x + d["a"] + d.get("b", 10) + d.get("c", 100)
    try:
        d["c"]
    except KeyError as e:
        return x, str(e), d.get("zz")
    return x


def inputs():
    thing.__dict__.pop("b", None)
    thing.later = object()
    return (torch.ones(2),)

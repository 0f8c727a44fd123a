"""New instances whose class writes attributes by Python code: order, slots, descriptors."""

import collections
import dataclasses
from typing import Any

import torch

GRAPHS = 1


class Guarded:
    """Writes as `object` does, by way of Python code."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)


class Wide(Guarded):
    def __init__(self, x):
        self.one, self.two, self.x, self.three, self.flag = 1, None, x, "3", True
        self.two = 2.5


class Slotted(Guarded):
    __slots__ = ("inside", "other")

    def __init__(self, x):
        self.inside, self.before, self.x, self.other, self.after = 1, 2, x, 4, 5


class Described(Guarded):
    @property
    def seen(self):
        return self.__dict__["_seen"]

    @seen.setter
    def seen(self, value):
        self.__dict__["_seen"] = value

    def __init__(self, x):
        self.a, self.seen, self.b, self.c = 1, x, 3, None


@dataclasses.dataclass
class Output(collections.OrderedDict):
    loss: Any = None
    logits: Any = None
    states: Any = None
    name: str = "none"

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                super().__setitem__(field.name, getattr(self, field.name))

    def __setattr__(self, name, value):
        super().__setattr__(name, value)


def fn(x):
    y = x + 1
    twice = Output(logits=y), Output(loss=x, states=[y])
    wide = Wide(y)
    return wide, list(vars(wide)), Slotted(y), Described(y), twice, [list(vars(o)) for o in twice]


def inputs():
    return (torch.ones(2),)

"""Patterns of every kind: values, sequences, mappings, classes, nested, with guards."""

import enum
from collections import OrderedDict, deque, namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

GRAPHS = 1


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


@dataclass
class Point:
    x: int
    y: int = 2


class Named:
    __match_args__ = ("first",)

    def __init__(self):
        self.first = 5
        self.second = 6


class Pair(Sequence):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i > 1:
            raise IndexError
        return i * 10


class One(Mapping):
    def __len__(self):
        return 1

    def __iter__(self):
        return iter(["k"])

    def __getitem__(self, k):
        if k != "k":
            raise KeyError(k)
        return 7


class Neither:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return i


Tagged = namedtuple("Tagged", "tag value")


def kind(v):
    match v:
        case bool():
            return "bool"
        case int() | float() as n if n > 2:
            return ("number", n)
        case str(s):
            return ("text", s)
        case Mode.SUM:
            return "sum"
        case Point(1, 2):
            return "point 1 2"
        case Point(x=a, y=b):
            return ("point", a, b)
        case Named(5, second=c):
            return ("named", c)
        case Tagged(tag, value):
            return ("tagged", tag, value)
        case []:
            return "empty"
        case [int(a), str(b)]:
            return ("pair", a, b)
        case [first, *_, last]:
            return ("ends", first, last)
        case {"layers": [{"n": n}, *rest]}:
            return ("layers", n, len(rest))
        case {"k": k, **rest}:
            return ("mapping", k, rest)
        case {}:
            return "some mapping"
        case torch.Tensor(ndim=d):
            return ("tensor", d)
        case None:
            return "none"
        case _:
            return "other"


def fn(x):
    values = [True, 1, 3, 2.5, "s", Mode.SUM, Mode.MEAN, Point(1), Point(1, 3), Named()]
    values += [Tagged("t", x), [], (), [1, "a"], [1, 2, 3], (x, 2), deque([4, 5]), range(3)]
    values += [{"layers": [{"n": 4}, 1]}, {"k": 1, "l": 2}, {}, OrderedDict(q=1), x, None]
    values += [Pair(), One(), Neither(), b"ab", {1, 2}]
    return x + 1, [kind(v) for v in values]


def inputs():
    return (torch.ones(2),)

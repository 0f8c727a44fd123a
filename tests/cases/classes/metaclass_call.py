"""A metaclass that makes instances in its own way; an abstract class that makes none."""

import abc

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0


class Counting(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.arguments = len(args)
        return made


class Once(type):
    made = {}

    def __call__(cls):
        if cls not in cls.made:
            cls.made[cls] = super().__call__()
        return cls.made[cls]


class Counted(metaclass=Counting):
    def __init__(self, n):
        self.n = n


class Single(metaclass=Once):
    def __init__(self):
        self.n = 5


class Abstract(abc.ABC):
    @abc.abstractmethod
    def one(self): ...

    @property
    @abc.abstractmethod
    def two(self): ...


def fn(x):
    c = Counted(3)
    try:
        Abstract()
    except TypeError as e:
        text = str(e)
    return x * c.n + c.arguments, Single() is Single(), Single().n, text


def inputs():
    return (torch.ones(2),)

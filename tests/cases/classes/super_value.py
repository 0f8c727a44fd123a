"""A mutable class attribute read through super() is the very object of the class."""

import torch

GRAPHS = 2


class Base:
    history = []


class Derived(Base):
    history = None

    def log(self, x):
        super().history.append(x.dim())
        return len(super().history)


def fn(x):
    d = Derived()
    return x * d.log(x), Base.history


def inputs():
    return (torch.ones(2),)

"""`inspect.signature` of functions, methods and classes, and what is read of it."""

import functools
import inspect

import torch

GRAPHS = 1


def plain(a, b=2, *args, c, d=4, **kwargs):
    return a


@functools.wraps(plain)
def wrapping(*args, **kwargs):
    return plain(*args, **kwargs)


class Thing:
    def __init__(self, x, y=1):
        self.x = x

    def method(self, p, q=3):
        return p


thing = Thing(1)


def names(f):
    s = inspect.signature(f)
    return [(n, str(p.kind), p.default is p.empty) for n, p in s.parameters.items()]


def fn(x):
    bound = inspect.signature(thing.method).bind(1, q=2)
    bound.apply_defaults()
    local = inspect.signature(Thing.method).parameters["q"].default
    return (
        x + len(inspect.signature(plain).parameters) + local,
        names(plain),
        names(wrapping),
        names(thing.method),
        names(Thing),
        "b" in inspect.signature(plain).parameters,
        list(inspect.signature(plain).parameters),
        bound.args,
        inspect.isfunction(plain),
        inspect.ismethod(thing.method),
        inspect.isclass(Thing),
    )


def inputs():
    return (torch.ones(2),)

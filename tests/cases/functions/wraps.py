"""`functools.wraps` in the compiled function copies name, text and `__dict__`."""

import functools

import torch

GRAPHS = 1


def decorate(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) + 1

    return wrapper


def plain(x):
    """Doubles."""
    return x * 2


plain.mark = 5


def fn(x):
    g = decorate(plain)
    g.__dict__["more"] = 6
    return g(x), g.__name__, g.__doc__, g.mark, g.more, sorted(g.__dict__), g


def inputs():
    return (torch.ones(2),)

"""A generator has the names that its function has when it is called, not those of the code."""

import functools

import torch

GRAPHS = 2


def count(n):
    yield from range(n)


def named(f):
    @functools.wraps(f)
    def wrapper(n):
        yield from f(n)

    return wrapper


wrapped = named(count)


@torch._dynamo.disable
def look(generator):
    return generator.__name__, generator.__qualname__, list(generator)


def fn(x, name):
    x = x + 1

    def local():
        yield 1

    local.__name__ = name
    own, outer = local(), wrapped(2)
    started = wrapped(3)
    next(started)
    seen = [(g.__name__, g.__qualname__) for g in (own, outer, started, count(1))]
    return x, seen, look(own), look(outer), look(started)


def before(i):
    wrapped.__name__ = f"wrapped_{i}"


def inputs():
    return (torch.ones(2), "other")

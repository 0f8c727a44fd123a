"""A generator that is advanced, closed or thrown into by its own body raises `ValueError`."""

import torch

GRAPHS = 1
SNAPSHOT = False


def tried(action):
    try:
        return action()
    except ValueError as e:
        return e.args


def fn(x):
    trace = []

    def outer():
        yield 1
        yield from inner()

    def inner():
        yield 2
        trace.append(tried(lambda: next(it)))
        trace.append(tried(lambda: it.throw(KeyError)))
        trace.append(tried(lambda: it.close()))
        trace.append(tried(lambda: [y for y in it]))
        yield 3
        yield from it

    it = outer()
    trace.append(tried(lambda: [trace.append(y) for y in it]))
    trace.append(list(it))
    return x + 1, trace


def inputs():
    return (torch.ones(2),)

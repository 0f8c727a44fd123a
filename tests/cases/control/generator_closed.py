"""`close()` of a generator gives what it returns from Python 3.13 on, and nothing before."""

import torch


def returning():
    try:
        yield 1
    except GeneratorExit:
        return 7


def delegating():
    try:
        yield from returning()
    except GeneratorExit:
        return 8


def plain():
    yield 1


def fn(x):
    closed = []
    for make in (returning, delegating, plain):
        unstarted = make()
        closed.append(unstarted.close())
        started = make()
        next(started)
        closed.append(started.close())
        closed.append(started.close())
    return x + 1, closed


def inputs():
    return (torch.ones(2),)


GRAPHS = 1

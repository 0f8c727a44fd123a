"""`close()` runs `finally`; one that yields again is an error."""

import torch

GRAPHS = 1


def inner(log):
    try:
        yield 1
    finally:
        log.append("inner")


def outer(log):
    try:
        yield from inner(log)
    finally:
        log.append("outer")


def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


def fn(x):
    log = []
    g = outer(log)
    x = x + next(g)
    g.close()
    s = stubborn()
    next(s)
    try:
        s.close()
    except RuntimeError as e:
        log.append(str(e))
    try:
        g.throw(KeyError("late"))
    except KeyError as e:
        log.append(repr(e))
    s = None
    return x, log


def inputs():
    return (torch.ones(2),)

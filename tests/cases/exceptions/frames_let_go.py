"""What a frame held is let go with the exception that left it: nothing keeps both alive."""

import torch

GRAPHS = 0
REFERENCE_GRAPHS = 1

log = []


class Held:
    def __del__(self):
        log.append("gone")


def rows(t):
    try:
        yield t
    finally:
        log.append("closed")


def check(n, t):
    if n % 2:
        raise ValueError(n)
    return t


def chained(n, t):
    try:
        return check(n, t)
    except ValueError as e:
        raise KeyError(n) from e


FUNCTIONS = check, chained


def fn(n, t, kind):
    held, waiting = Held(), rows(t)
    t = next(waiting) + 1
    return FUNCTIONS[kind](n, t)


def calls():
    return [(n, torch.ones(2), kind) for kind in (0, 1) for n in (2, 1, 3)]

"""Code of the user's that a container calls changes the container."""

from collections import deque

import torch

GRAPHS = 1


class Clears:
    def __init__(self, what):
        self.what = what

    def __eq__(self, other):
        self.what.clear()
        return NotImplemented


def attempt(f, *args, **options):
    try:
        return f(*args, **options)
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error).__name__, str(error)


def fn(x):
    rows = [3, 1, 2]

    def key(n):
        rows.append(n)
        return n

    sorting = attempt(rows.sort, key=key)
    left, right = [], []
    left.append(Clears(right))
    right.append(Clears(left))
    compared = left == right
    d = deque()
    d.append(Clears(d))
    d.append(1)
    found = attempt(d.count, 1)
    it = iter(e := deque())
    e.append(1)
    return x + 1, sorting, sorted(rows), compared, found, attempt(next, it)


def inputs():
    return (torch.ones(2),)

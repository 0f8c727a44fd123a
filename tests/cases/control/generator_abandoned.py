"""Generators that are dropped while suspended in a `try` whose handlers do nothing then."""

import collections.abc

import torch

GRAPHS = 1


class Numbers(collections.abc.Sequence):
    def __init__(self, items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


def watched(log):
    try:
        yield 1
        yield 2
    except ValueError as e:
        log.append(str(e))
        yield 3


def fn(x):
    numbers = Numbers([1, 2, 3])
    first = next(iter(numbers))
    pairs = list(zip([1, 2], numbers))
    found = any(n == 2 for n in numbers)
    log = []
    g = watched(log)
    next(g)
    thrown = g.throw(ValueError("no"))
    g.close()
    h = watched(log)
    next(h)
    h.close()
    ended = next(h, "ended")
    return x + first, pairs, found, thrown, log, ended


def inputs():
    return (torch.ones(2),)

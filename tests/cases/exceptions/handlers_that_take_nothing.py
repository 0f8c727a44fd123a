"""Handlers of classes that torch does not raise for values: what runs once is not in their way."""

import torch

GRAPHS = 5
REFERENCE_WRONG = "the exception passes the handler"


class Unsupported(Exception):
    pass


class Cache:
    def __init__(self):
        self.rows = torch.zeros(4, 2)
        self.seen = torch.tensor(0)

    def update(self, x):
        at = torch.arange(len(x)) + self.seen
        self.seen.add_(len(x))
        try:
            self.rows.index_copy_(0, at, x)
        except (NotImplementedError, Unsupported):
            self.rows[at % 4] = x
        return self.rows


def fn(x, cache):
    try:
        return cache.update(x).sum(0)
    except KeyError:
        return x


def calls():
    cache = Cache()
    return [
        (torch.ones(2, 2), cache),
        (torch.ones(1, 2), cache),
        (torch.ones(1, 2), Cache()),
        (torch.ones(3, 2), cache),  # Beyond the end.
    ]


def before(index):
    global Unsupported
    if index == 3:
        Unsupported = IndexError

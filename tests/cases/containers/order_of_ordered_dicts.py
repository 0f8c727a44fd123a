"""An `OrderedDict` whose order is not that in which it was filled, read and written to."""

from collections import OrderedDict

import torch

GRAPHS = 1
SNAPSHOT = False


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return self.n == other.n


def moved(*keys):
    items = OrderedDict((key, i) for i, key in enumerate(keys))
    items.move_to_end(keys[0])
    return items


def fn(x, items, by_class):
    before = list(items.items())
    items["new"] = x + 1
    items.move_to_end("b")
    return x * 2, before, list(items), list(by_class.items())


def calls():
    return [(torch.ones(2), moved("a", "b", "c"), moved(int, str, Key)) for _ in range(2)]

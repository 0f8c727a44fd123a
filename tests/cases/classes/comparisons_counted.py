"""A key whose `__eq__` has effects is compared as often as Python does it."""

import torch

GRAPHS = 2

count = [0]


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 1

    def __eq__(self, other):
        count[0] += 1
        return self.n == other.n


def fn(x):
    table = {Key(1): 1, Key(2): 2}
    return x + table[Key(2)], Key(3) in table


def inputs():
    return (torch.ones(2),)

"""Keys whose `__hash__` or `__eq__` can be seen at work, and different keys with one hash."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


class Counted:
    def __init__(self, value):
        self.value = value
        self.hashed = 0
        self.compared = 0

    def __hash__(self):
        self.hashed += 1
        return 42

    def __eq__(self, other):
        self.compared += 1
        return self is other


class Same:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return self.value // 10

    def __eq__(self, other):
        return self.value == other.value


def fn(x):
    a, b = Counted(1), Counted(2)
    table = {a: 1}
    table.setdefault(b, 2)
    counts = a.hashed, b.hashed, a.compared + b.compared
    key, other = Same(11), Same(12)
    names = {key: "key", other: "other"}
    return x + 1, counts, names[key], names[other], [k.value for k in names]


def inputs():
    return (torch.ones(2),)

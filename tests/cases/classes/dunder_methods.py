"""`__call__`, `__getitem__`, `__len__`, `__contains__`, `__iter__`, `__eq__`, `__add__`."""

import torch

GRAPHS = 1


class V:
    def __init__(self, items):
        self.items = items

    def __call__(self, x):
        return x + len(self)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, v):
        self.items[i] = v

    def __len__(self):
        return len(self.items)

    def __contains__(self, v):
        return v in self.items

    def __iter__(self):
        return iter(self.items)

    def __eq__(self, other):
        return self.items == other.items

    def __add__(self, other):
        return V(self.items + other.items)

    def __radd__(self, other):
        return other + self.items[0]

    def __neg__(self):
        return V([-i for i in self.items])


def fn(x):
    v = V([1, 2, 3])
    v[0] = 7
    return (
        v(x),
        v[0],
        len(v),
        2 in v,
        [i for i in v],
        v == V([7, 2, 3]),
        (v + v).items,
        1 + v,
        (-v)[1],
    )


def inputs():
    return (torch.ones(2),)

"""C reads what sets, numbers and dicts of the program's own classes hold, not their methods."""

import math

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 1


class Seven(set):
    def __iter__(self):
        return iter([7])


class Eight(frozenset):
    def __iter__(self):
        return iter([8])


class Nine(float):
    def __float__(self):
        return 9.0


class Half(int):
    def __float__(self):
        return 0.5


class Counted(int):
    def __add__(self, other):
        return "counted", super().__add__(other)

    def __radd__(self, other):
        return "reflected", super().__radd__(other)


class Ten(dict):
    def __iter__(self):
        return iter([9])

    def keys(self):
        return [10]

    def __getitem__(self, key):
        return key


def fn(x, seven, eight, nine, half, counted, ten):
    some = {5}
    some.update(seven)
    sets = set(seven), {1, 2}.union(seven), {1, 2}.difference(eight), {*eight}, some
    numbers = math.sqrt(nine), math.floor(nine), complex(half)
    added = counted + 1, 1 + counted, int.__add__(1, counted)
    return x + counted, sets, numbers, added, {"z": 1} | ten


def inputs():
    return torch.ones(2), Seven([1]), Eight([2]), Nine(2.5), Half(3), Counted(3), Ten(a=1)

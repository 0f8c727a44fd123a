"""`+` and `*` of sequences ask the operators that classes have in Python first."""

import torch

GRAPHS = 1


class Times:
    def __index__(self):
        return 2

    def __rmul__(self, other):
        return "times"

    def __radd__(self, other):
        return "added"


class Refuses:
    def __index__(self):
        return 2

    def __rmul__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return NotImplemented

    def __iter__(self):
        return iter([3])


class Items(list):
    def __mul__(self, other):
        return "items"

    def __rmul__(self, other):
        return "reflected"


def fn(x, times, refuses, items):
    a = [1]
    a += times
    b = [1]
    b += refuses
    c = [1]
    c *= refuses
    d = items
    d *= 2
    y = x + 1
    return y, 2 * items, [1] * times, "ab" * times, (1,) * refuses, a, b, c, d


def inputs():
    return torch.ones(2), Times(), Refuses(), Items([1])

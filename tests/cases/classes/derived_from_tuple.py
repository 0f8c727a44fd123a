"""Classes that derive from tuple, with and without constructors of their own."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Pair(tuple):
    def first(self):
        return self[0]


class Slotted(tuple):
    __slots__ = ()

    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def second(self):
        return self[1]


class Initialised(tuple):
    def __init__(self, items):
        assert len(self) == len(items)


class Replaced(tuple):
    def __len__(self):
        return 7

    def __getitem__(self, index):
        return super().__getitem__(index) + 100

    def __contains__(self, item):
        return item == 3


def fn(x, pair, slotted):
    made = Pair((x, 2))
    a, b = made
    found = [pair.first(), slotted.second, len(pair), pair[-1], pair[:1], type(pair[:1]).__name__]
    found += [pair + (3,), (0, *pair), pair == (1, 2), (1, 2) == pair, hash(pair) == hash((1, 2))]
    found += [{pair: 4}[(1, 2)], sum(pair), 2 in pair, sorted(pair), type(made).__name__]
    found += [isinstance(pair, tuple), pair.index(2), pair.count(1), Pair() == (), bool(Pair())]
    found += [list(Initialised([1, 2])), tuple(pair), type(tuple(pair)).__name__]
    found += [repr(pair), f"{pair}"]
    replaced = Replaced((1, 2))
    found += [len(replaced), replaced[0], list(replaced), 3 in replaced, 1 in replaced]
    mine = Slotted(x + 1, x + 2)
    return a * b + mine.second, found, made, mine, pair


def calls():
    x = torch.ones(2)
    return [(x, Pair((1, 2)), Slotted(1, 2)), (x, Pair((1, 2)), Slotted(1, 2))]

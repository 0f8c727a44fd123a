"""An `__index__` that gives an int of a class of its own is taken, with a warning."""

import enum

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


class Place(enum.IntEnum):
    SECOND = 1


class At:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


def fn(x, place):
    found = [10, 20, 30][At(place)]
    try:
        found = "abc"[At("b")], found
    except TypeError as e:
        found = str(e), found
    return x + 1, found


def calls():
    return [(torch.ones(2), place) for place in (Place.SECOND, 2, Place.SECOND)]


COMPILED_WRONG = (
    "what a compiler does to the filters of warnings has one shown that was shown before"
)

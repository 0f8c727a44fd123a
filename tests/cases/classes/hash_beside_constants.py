"""An object that equals a constant is that constant's key."""

import torch

GRAPHS = 1


class Name:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, Name) else other)


def fn(x):
    y = x + 1
    table = {"a": 1, 2: 2}
    return y, table[Name("a")], table[Name(2)], Name("b") in table, "a" in {Name("a"): 1}


def inputs():
    return (torch.ones(2),)

"""Adding to what a comprehension makes runs code of the program's, in the middle of the loop."""

import torch

GRAPHS = 2
SNAPSHOT = False


class Key:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        print(self.number, other.number)
        return self.number == other.number

    def __hash__(self):
        return 0


def keywords(**given):
    return given


class Mapping:
    def __init__(self, number):
        self.number = number

    def keys(self):
        print("keys", self.number)
        return ["a", "b"][: self.number]

    def __getitem__(self, key):
        return key, self.number


def fn(x):
    members = {Key(i % 3) for i in range(5)}
    keys = {Key(i % 3): i for i in range(5)}
    both = {**Mapping(1), **Mapping(2)}
    given = keywords(c=3, **Mapping(2))
    numbers = sorted(key.number for key in members)
    return x + 1, numbers, sorted(keys.values()), both, given


def inputs():
    return (torch.ones(2),)

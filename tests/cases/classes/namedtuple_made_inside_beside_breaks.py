"""A named tuple's class that the function makes is the same one behind a graph break."""

import collections

import torch

SNAPSHOT = False
REFERENCE_WRONG = "torch.compile lets a class that it has made keep what the program writes to it"
BREAKS = [
    "Class made in the compiled function",
    "setting attribute __doc__ of a class",
]

kept = []


def across(x):
    Pair = collections.namedtuple("Pair", "a b")
    pair = Pair(x, x * 2)
    torch._dynamo.graph_break()
    return pair.a + pair.b, type(pair) is Pair, isinstance(Pair(1, 2), Pair)


def refused(x):
    try:
        collections.namedtuple("Pair", "a def")
    except ValueError as e:
        return x * 4, str(e)


def documented(x):
    Pair = collections.namedtuple("Pair", "a b")
    Pair.__doc__ = "Two."
    kept.append(Pair.__doc__)
    return Pair(x, 1).a * Pair(x, 2).b


def fn(x):
    return across(x), refused(x), documented(x)


def calls():
    return [(torch.arange(3.0),) for _ in range(3)]

"""What a function hands out of a named tuple's class that it makes is a new one at each call."""

import collections

import torch

GRAPHS = 6
REFERENCE_GRAPHS = 1
BREAKS = [
    "Data-dependent branching",
    "Object made in the compiled function is needed outside of it",
]
SNAPSHOT = False

kept = []


def made(x):
    Pair = collections.namedtuple("Pair", "a b")
    return Pair(x, x + 1)


def method_of(x):
    Pair = collections.namedtuple("Pair", "a b")
    return x * 2, Pair._make


def names_of(x):
    Pair = collections.namedtuple("Pair", "a b")
    return x * 3, Pair._fields, Pair.__mro__


def across(x):
    Pair = collections.namedtuple("Pair", "a b")
    pair = Pair(x, x * 2)
    print("a break", pair.a.sum().item())
    return pair.a + pair.b


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


def in_handler(x):
    try:
        raise KeyError("k")
    except KeyError:
        Pair = collections.namedtuple("Pair", "a b")
        pair = Pair(x, x)
    return pair


def fn(x):
    first, second = made(x), made(x)
    same = type(first) is type(second), first == second
    make = method_of(x)
    names = names_of(x)
    handled = in_handler(x)
    return (
        (tuple(first), type(first).__name__, same),
        (make[0], tuple(make[1]([1, 2]))),
        (names[0], names[1], [c.__name__ for c in names[2]]),
        (across(x), refused(x), documented(x)),
        (tuple(handled), type(handled).__name__),
    )


def inputs():
    return (torch.arange(3.0),)


def calls():
    return [inputs() for _ in range(3)]

"""What a function hands out of a named tuple's class that it makes is a new one at each call."""

import collections

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "torch.compile takes its own module for that of the class"

kept = []


class Holder:
    pass


def made(x):
    Pair = collections.namedtuple("Pair", "a b", defaults=(4,))
    return Pair(x), Pair(x + 1, Pair(x, [x]))


def method_of(x):
    Pair = collections.namedtuple("Pair", "a b")
    return x * 2, Pair._make


def names_of(x):
    Pair = collections.namedtuple("Pair", "a b")
    return x * 3, Pair._fields, Pair.__mro__


def in_handler(x):
    try:
        raise KeyError("k")
    except KeyError:
        Pair = collections.namedtuple("Pair", ["a", "def"], rename=True)
        pair = Pair(x, x)
    return pair


def fn(x, holder):
    (first, second), (third, _) = made(x), made(x)
    kinds = [type(first) is type(second), type(second.b) is type(first), type(first) is type(third)]
    make = method_of(x)
    names = names_of(x)
    holder.pair = handled = in_handler(x)
    kept.append(first)
    return (
        (first, second, type(first).__name__, type(first).__module__, kinds),
        (make[0], tuple(make[1]([1, 2]))),
        (names[0], names[1], [c.__name__ for c in names[2]]),
        (handled, handled is holder.pair, handled._fields),
    )


def before(i):
    # Eager mode makes one more beside each compiled call.
    assert len({type(pair) for pair in kept}) == len(kept)


def calls():
    return [(torch.arange(3.0), Holder()) for _ in range(3)]

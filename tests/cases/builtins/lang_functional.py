"""partial, reduce, cmp_to_key, operator functions and getters, over tensors and plain values."""

import functools
import operator
from collections import namedtuple

import torch

GRAPHS = 1

Pair = namedtuple("Pair", "left right")


@functools.lru_cache
def cached(n, scale=2):
    return n * scale


def combine(x, y, *rest, scale=1, **kw):
    return (x + y) * scale, rest, sorted(kw)


def fn(x, items):
    pair = Pair(x, x + 1)
    double = functools.partial(combine, x, scale=2)
    nested = functools.partial(double, x * 3, extra=1)
    order = sorted(items, key=functools.cmp_to_key(lambda a, b: len(b) - len(a)))
    return (
        functools.reduce(operator.add, [x, x * 2, 3]),
        double(x, 5, q=1),
        nested(),
        nested.args[0] is x,
        nested.keywords,
        order,
        operator.attrgetter("left", "right")(pair),
        operator.itemgetter(1, 0)(pair),
        operator.methodcaller("sum", dim=0)(x),
        operator.matmul(x, x),
        operator.iadd([1], items),
        cached(3) + cached(3, scale=4),
        list(map(operator.itemgetter(0), items)),
    )


def inputs():
    return (torch.arange(3.0), ["a", "ccc", "bb"])

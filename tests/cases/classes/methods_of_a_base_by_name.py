"""A method of a C class, taken from that class, is not the one that a subclass has in its place."""

import collections
import itertools
import sys
import types

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def refused(f, *args):
    try:
        return f(*args)
    except (AttributeError, TypeError) as e:
        return type(e).__name__, str(e)


def fn(x):
    ordered, back = collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)
    default, proxy = collections.defaultdict(int, a=1), types.MappingProxyType({1: 2})
    made = dict.copy(ordered), dict.copy(default), dict.__or__(default, {"b": 1})
    texts = dict.__repr__(ordered), int.__repr__(True), tuple.__repr__(torch.Size([1]))
    sizes = tuple.__add__(x.size(), (1,)), tuple.__getitem__(x.size(), slice(1))
    same = dict.__eq__(ordered, back), object.__ne__(5, 6), object.__eq__(x, x)
    merged = {}.__or__(proxy), {}.__ior__(proxy), proxy.__or__(proxy), ordered.__ror__(proxy)
    wrong = (
        refused(list.append, collections.deque(), 1),
        refused(dict.__len__, [1]),
        refused(frozenset.__or__, {1}, {2}),
        refused(object.__new__, list),
    )
    counts = repr(itertools.count(-(2**70))), repr(itertools.count(sys.maxsize))
    return x + 1, made, texts, sizes, same, merged, wrong, counts


def inputs():
    return (torch.ones(3),)

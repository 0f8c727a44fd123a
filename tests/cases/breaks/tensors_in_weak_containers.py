"""A tensor that a weak container knows lives as long as the variable that holds it, used or not."""

import weakref

import torch

GRAPHS = 4

KEYS = weakref.WeakKeyDictionary()


def keys(x):
    t = x + 1
    KEYS[t] = 3
    return len(KEYS)


def own_keys(x):
    t = x + 1
    known = weakref.WeakKeyDictionary()
    known[t] = 3
    torch._dynamo.graph_break()
    return len(known)


def values(x):
    t = x + 1
    known = weakref.WeakValueDictionary()
    known["t"] = t
    torch._dynamo.graph_break()
    return len(known)


def members(x):
    t = x + 1
    known = weakref.WeakSet()
    known.add(t)
    torch._dynamo.graph_break()
    return len(known)


def fn(x):
    KEYS.clear()
    return x + 1, keys(x), own_keys(x), values(x), members(x)


def inputs():
    return (torch.ones(2),)

"""Containers that hold themselves, or are nested deeper than a translator should follow."""

import torch

GRAPHS = 0


def fn(x):
    a = []
    a.append(a)
    b = {}
    b["b"] = [b]
    c = []
    c.append(c)
    deep = []
    for _ in range(1000):
        deep = [deep]
    try:
        same = a == c
    except RecursionError:
        same = "too deep"
    tuples = ()
    for _ in range(100_000):
        tuples = (tuples,)
    return x + 1, repr(a), str(b), same, len(repr(deep)) > 100, len(tuples)


def inputs():
    return (torch.ones(2),)

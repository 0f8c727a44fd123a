"""Iterators over containers, handed half way to plain Python: of the class that Python gives them,
and over the containers themselves."""

from collections import OrderedDict, deque

import torch

GRAPHS = 1


def half(it):
    next(it)
    return it


@torch._dynamo.disable
def rest(its, dq, s):
    dq[2] = 9
    s.add(6)
    found = []
    for it in its:
        try:
            found.append((type(it).__name__, list(it)))
        except RuntimeError as e:
            found.append((type(it).__name__, str(e)))
    return found


def fn(x):
    x = x + 1
    d, od, dq, s = {"a": 1, "b": 2}, OrderedDict(a=1, b=2, c=3), deque([1, 2, 3]), {5}
    its = [iter(d), half(iter(d.items())), half(iter(dq)), half(reversed(dq)), iter(s)]
    its += [half(iter(od)), half(reversed(od.items())), half(iter(od.values())), half(reversed(d))]
    dq[1] = 7
    return x, [type(it).__name__ for it in its], rest(its, dq, s)


def inputs():
    return (torch.ones(2),)

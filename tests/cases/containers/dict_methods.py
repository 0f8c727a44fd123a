"""Merging, copying, clearing, popping items, making from pairs."""

import torch

GRAPHS = 1


def fn(x):
    a = dict(p=1, q=2)
    b = a | {"q": 3}
    a |= {"r": 4}
    c = a.copy()
    c.clear()
    d = dict([("k", 1), ("l", 2)])
    e = d.popitem()
    f = dict.fromkeys(["m", "n"], 0)
    g = dict(zip("ab", (1, 2)))
    return x + b["q"], a, b, c, d, e, f, g, a == {"p": 1}, list(reversed(b))


def inputs():
    return (torch.randn(2),)

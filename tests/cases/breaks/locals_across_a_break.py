"""Until 3.12 a frame has one dictionary for `locals()`, before a graph break and behind it."""

import torch

BREAKS = ["Call to `graph_break()`"]


def fn(x):
    a = 1
    names = locals()
    names["added"] = 3
    y = x + a
    torch._dynamo.graph_break()
    a = 7
    seen = sorted(names), names.get("a")
    again = locals()
    return y, seen, sorted(again), again is names, names["a"]


def inputs():
    return (torch.ones(2),)

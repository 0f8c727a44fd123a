"""Dicts made and changed in the function keep their order."""

import torch

GRAPHS = 1


def fn(x):
    d = {"b": x, "a": x + 1}
    d["c"] = x + 2
    d.update(a=x * 3, e=5)
    e = d.pop("b")
    d.setdefault("c", None)
    f = d.setdefault("z", 26)
    del d["e"]
    return d, e, f, list(d), list(d.values())[0], d.get("q"), d.get("q", 7), "a" in d, len(d)


def inputs():
    return (torch.randn(2),)

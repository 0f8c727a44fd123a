"""Deleting and adding keys changes the order of a dict that the caller sees."""

import torch

GRAPHS = 0
BYTECODE = True


def fn(d, x):
    v = d.pop("a")
    d["z"] = x
    d["a"] = v + 1
    d["b"] = 0
    return list(d)


def calls():
    return [({"a": 1, "b": 2}, torch.ones(2)), ({"a": 1, "b": 2}, torch.ones(2))]

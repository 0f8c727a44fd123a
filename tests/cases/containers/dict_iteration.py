"""Loops over keys, values and items."""

import torch

GRAPHS = 1


def fn(params):
    total = 0
    names = []
    for name in params:
        names.append(name)
    for value in params.values():
        total = total + value
    for i, (name, value) in enumerate(params.items()):
        total = total + value * (i + len(name))
    return total, names, {**params, "x": 1}, {k: v + 1 for k, v in params.items()}


def inputs():
    return ({"w": torch.randn(2), "bias": torch.randn(2)},)

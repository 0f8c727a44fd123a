"""Dicts with other keys, and with the same keys in another order."""

import torch

GRAPHS = 3


def fn(d):
    return [(k, v + 1) for k, v in d.items()]


def calls():
    a = torch.ones(2)
    return [({"a": a, "b": a},), ({"b": a, "a": a},), ({"a": a},), ({"a": a, "b": a},)]

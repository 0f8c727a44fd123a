"""`string.Formatter`: the parts of a field's name are asked for on each call."""

import string

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def fn(x):
    things = {"a": [1, {"b": 2}]}
    return x + 1, string.Formatter().format("{a[1][b]} {a[0]} {0.real}", 3, **things)


def calls():
    return [(torch.ones(2),) for _ in range(2)]

"""A global number that changes between calls."""

import torch

GRAPHS = 2
scale = 2


def before(index):
    globals()["scale"] = 5 if index == 1 else 2


def fn(x):
    return x * scale


def calls():
    return [(torch.ones(2),)] * 3

"""`copy.deepcopy` of an object that holds sets."""

import copy

import torch

# What it imports adds to the table that `copy` looks into.
import torch._dynamo

GRAPHS = 1


class Config:
    def __init__(self):
        self.names = {2, 1}
        self.fixed = frozenset({1, 2})
        self.empty = set()


CONFIG = Config()


def fn(x):
    mine = copy.deepcopy(CONFIG)
    mine.names.add(3)
    parts = {1, 2}.__reduce__()
    return x + len(mine.names), sorted(mine.names), mine, len(parts), CONFIG.names


def inputs():
    return (torch.ones(2),)

"""A look-up in a large dict from outside depends on that item only."""

import torch

GRAPHS = 2
table = {f"k{i}": i for i in range(50)} | {int: 3, float: 4}


def before(index):
    table["noise"] = index
    table["k3"] = 30 if index == 2 else 3


def fn(x):
    n = table["k3"] + table[int] + table.get("k4") + table.get("none", 7)
    return x + n, float in table, str in table, table.get(str)


def calls():
    return [(torch.ones(2),)] * 4

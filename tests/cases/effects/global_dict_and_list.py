"""A list and a dict in globals."""

import torch

GRAPHS = 1

names = []
table = {"a": 1}


def fn(x):
    names.append("call")
    table["b"] = x + table["a"]
    table.update(c=3)
    return table["b"] * 2


def calls():
    return [(torch.ones(2),)]

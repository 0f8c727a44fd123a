"""Ids that are keys are the same numbers behind a graph break."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0
BYTECODE = True


def fn(x):
    a = [1]
    t = x + 1
    table = {id(a): "a", id(t): "t"}
    print(float(x.sum()))
    return t, table[id(a)], table[id(t)], len(table)


def inputs():
    return (torch.ones(2),)

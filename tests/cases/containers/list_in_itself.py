"""A list that is an item of itself: what would go through all of it is left to Python."""

import copy

import torch

GRAPHS = 2
BREAKS = ["nested too deep"]
SNAPSHOT = False


def fn(x):
    y = x + 1
    loop = [y]
    loop.append(loop)
    shallow = copy.copy(loop)
    found = isinstance(loop, list), len(loop), loop[1] is loop, shallow[1] is loop
    other = [1]
    other.append(other)
    again = copy.deepcopy(other)
    found += again[1] is again, id(loop) == id(loop[1])
    try:
        same = other == again
    except RecursionError as error:
        same = type(error)
    return y * 2, found, same


def inputs():
    return (torch.ones(2),)

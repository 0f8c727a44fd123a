"""Lists of other lengths and contents."""

import torch

GRAPHS = 3


def fn(items):
    total = 0
    for item in items:
        total = total + item
    return total


def calls():
    a = torch.ones(2)
    return [([a, a + 1],), ([a],), ([a, 1],), ([a, a + 1],)]

"""Two names of one list: a change through one is seen through the other."""

import torch

GRAPHS = 1
BYTECODE = True


def fn(a, b, x):
    a.append(x + 1)
    n = len(b)
    b.append(n)
    return n, a is b


def calls():
    same = []
    return [(same, same, torch.ones(2))]

"""A number that a called function needs ends the graph where it was read, outside of the call."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 4
BREAKS = ["Value that is made when the compiled code runs is needed"]
SNAPSHOT = False


def counts(x, n):
    return x.new_zeros(n) + 1


def scaled(x, n):
    y = x.sin()
    return counts(x, n).sum() + y


def fn(x, index):
    n = int(index.max()) + 1
    y = x.cos()
    return scaled(x, n) * y, n


def calls():
    return [(torch.ones(3) * j, torch.tensor([1, j])) for j in (2, 5, 7)]

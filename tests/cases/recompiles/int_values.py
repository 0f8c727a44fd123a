"""An int is a constant until it has another value; then it is an input of the graph."""

import torch

GRAPHS = 2


def fn(x, n):
    return x + n


def calls():
    x = torch.ones(2)
    return [(x, 1), (x, 2), (x, 3), (x, 1), (x, 2)]

"""A call with wrong arguments raises Python's own TypeError."""

import torch

GRAPHS = 1


def fn(a, b, *, c):
    return a + b + c


def calls():
    x = torch.ones(2)
    return [(x,), (x, x, x), (x, x, {"c=": 1}), (x, x, {"d=": 1})]

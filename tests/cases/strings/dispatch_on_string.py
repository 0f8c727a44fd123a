"""A string argument that chooses the operation."""

import torch

GRAPHS = 3


def fn(x, kind):
    op = getattr(torch, kind)
    return op(x)


def calls():
    x = torch.rand(3)
    return [(x, "sin"), (x, "cos"), (x, "sqrt"), (x, "sin")]

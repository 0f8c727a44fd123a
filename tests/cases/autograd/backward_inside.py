"""backward called in the function."""

import torch

GRAPHS = 1


def fn(x):
    y = (x * x).sum()
    y.backward()
    return x.grad


def calls():
    return [(torch.ones(2, requires_grad=True),)]


BACKWARD = False

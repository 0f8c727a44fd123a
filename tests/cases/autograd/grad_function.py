"""torch.autograd.grad called in the function."""

import torch

GRAPHS = 2


def fn(x):
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x)
    return g + 1


def calls():
    return [(torch.tensor([1.0, 2.0], requires_grad=True),)]


BACKWARD = False

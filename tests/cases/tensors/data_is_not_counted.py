"""Writes to `tensor.data` are no writes to the tensor as far as autograd is concerned."""

import torch

GRAPHS = 1


def fn(x, w):
    y = x * w
    w.data.mul_(0.5)
    w.data[0] = 3.0
    return y


def inputs():
    return torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

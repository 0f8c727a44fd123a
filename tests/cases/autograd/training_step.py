"""Gradients of parameters and inputs through a compiled forward."""

import torch

GRAPHS = 1


def fn(x, w, b):
    y = torch.tanh(x @ w + b)
    return (y**2).mean(), y


def inputs():
    return (
        torch.randn(4, 3, requires_grad=True),
        torch.randn(3, 2, requires_grad=True),
        torch.zeros(2, requires_grad=True),
    )

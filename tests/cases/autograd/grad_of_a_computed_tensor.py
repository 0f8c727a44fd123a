"""A gradient is set on a tensor that the function computes, and on an argument as `_grad`."""

import torch

GRAPHS = 1


def fn(x, y):
    made = x.detach() * 2
    made.grad = x.detach() + 1
    doubled = made.grad * 2
    made.grad.add_(1)
    y._grad = x.detach() * 3
    return made, made.grad + made, doubled, y.grad


def inputs():
    return torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

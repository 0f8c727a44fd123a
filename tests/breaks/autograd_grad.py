"""`torch.autograd.grad` inside of the compiled function."""

import torch


def fn(x):
    w = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad((w * w).sum(), w)
    return grad


def instead(x):
    return torch.func.grad(lambda w: (w * w).sum())(x)


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""`mark_dirty`: what `apply` gives is the argument itself, which was written to."""

import torch

GRAPHS = 1


class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Second(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        y.mul_(2)
        ctx.mark_dirty(y)
        return x + 1, y

    @staticmethod
    def backward(ctx, first, second):
        return first, second * 2


def fn(x):
    y = x.sin()
    z = AddOne.apply(y)
    a, b = Second.apply(x, z * 1)
    return y * 2, z is y, a * b, b


def inputs():
    return (torch.tensor([0.3, 0.5, 0.9], requires_grad=True),)

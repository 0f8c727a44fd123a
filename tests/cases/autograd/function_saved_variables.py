"""`ctx.saved_variables` is the old name of `ctx.saved_tensors`."""

import warnings

import torch

GRAPHS = 1


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_variables
        s = torch.sigmoid(x)
        return grad * (s * (1 + x * (1 - s)))


def fn(x):
    return Swish.apply(x)


def inputs():
    warnings.filterwarnings("ignore", message="'saved_variables' is deprecated")
    return (torch.ones(2, requires_grad=True),)

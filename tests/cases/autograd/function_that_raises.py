"""A `backward` that would raise breaks the graph, with its exception as the reason."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1
BACKWARD = False


class Forgetful(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.missing


def fn(x):
    return Forgetful.apply(x) + 1


def inputs():
    return (torch.ones(2, requires_grad=True),)

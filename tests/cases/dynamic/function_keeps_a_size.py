"""A `torch.autograd.Function` that keeps a size which changes for its backward."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 3
SNAPSHOT = False


class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.rows = x.size(0)
        return x.sum(0) / ctx.rows

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.rows, -1) / ctx.rows


def fn(x):
    return Mean.apply(x * 2) + 1


def calls():
    return [(torch.randn(rows, 3, requires_grad=True),) for rows in (2, 3, 5)]

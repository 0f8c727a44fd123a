"""Numbers that a custom function is given, or computes of sizes, change: arguments of its node."""

import math

import torch

SNAPSHOT = False
GRAPHS = 3  # one more for the other branch
REFERENCE_GRAPHS = 5


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, rows):
        ctx.save_for_backward(x)
        ctx.factor, ctx.rows = factor, rows
        scaled = x.view(rows, -1).sum(0) * factor
        return scaled, -scaled if rows > 4 else scaled + rows

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        grad = first * ctx.factor + second / ctx.rows
        return grad.expand(ctx.rows, -1).reshape(-1) * x, None, None


class OverRoot(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / math.sqrt(x.numel()) + math.log(x.shape[0])

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / math.sqrt(x.numel()) + x.shape[0] ** 0.5


def fn(x, factor, rows):
    first, second = Scaled.apply(x, factor, rows + 1)
    part = OverRoot.apply(x[: 12 + rows])
    return (first * 3 - second).sum() * x.shape[0] + part.sum()


def calls():
    numbers = [(0.5, 1), (1.5, 2), (2.5, 3), (3.5, 5), (4.5, 7)]
    return [(torch.ones(24, requires_grad=True), factor, rows) for factor, rows in numbers]


COMPILED_WRONG = "AOTAutograd frees what it saves: no second backward pass, as under torch.compile"

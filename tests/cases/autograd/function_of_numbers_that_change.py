"""Numbers that an `autograd.Function` is given change: they are arguments of its node."""

import torch

SNAPSHOT = False
GRAPHS = 3  # one more for the other branch


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


def fn(x, factor, rows):
    first, second = Scaled.apply(x, factor, rows + 1)
    return (first * 3 - second).sum() * x.shape[0]


def calls():
    numbers = [(0.5, 1), (1.5, 2), (2.5, 3), (3.5, 5), (4.5, 7)]
    return [(torch.ones(24, requires_grad=True), factor, rows) for factor, rows in numbers]


COMPILED_WRONG = "AOTAutograd frees what it saves: no second backward pass, as under torch.compile"

"""An autograd function that the program has allowed in the graph is one node, whatever it does."""

import torch
import torch._dynamo

GRAPHS = 1


@torch.compiler.allow_in_graph
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        torch._dynamo.graph_break()
        ctx.rows = x.size(0)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.rows


def fn(x):
    return Scaled.apply(x).sin()


def inputs():
    return (torch.ones(3, 2, requires_grad=True),)

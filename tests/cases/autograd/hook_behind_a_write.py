"""A hook on a tensor that was written to behind a break: its gradient is the written one's."""

import torch

GRAPHS = 2
SNAPSHOT = False


def fn(x):
    y = x * 2
    torch._dynamo.graph_break()
    y.add_(x)
    y.register_hook(lambda g: g + 1)
    return (y * y).sum()


def inputs():
    return (torch.linspace(0, 1, 3).requires_grad_(),)

"""A call of `graph_break()`."""

import torch


def fn(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def instead(x):
    y = x + 1
    return y * 2


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""A hook that asks how its gradient lies in memory runs as plain Python below a compiler."""

import torch

GRAPHS = 1


def fn(x):
    y = x * 2
    y.register_hook(lambda g: g * 2 if g.is_contiguous() else g * 3)
    return y.sum()


def inputs():
    return (torch.ones(2, 3, requires_grad=True),)

"""Functions passed, stored in a dict, and returned."""

import torch

GRAPHS = 1


def relu_like(x):
    return torch.where(x > 0, x, 0 * x)


TABLE = {"relu": relu_like, "tanh": torch.tanh, "neg": lambda x: -x}


def compose(f, g):
    def h(x):
        return f(g(x))

    return h


def fn(x, name):
    return compose(TABLE[name], TABLE["tanh"])(x)


def inputs():
    return torch.randn(4), "relu"

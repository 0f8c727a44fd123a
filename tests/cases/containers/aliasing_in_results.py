"""One list and one tensor that appear twice in the result stay one."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1
    a = [y]
    return a, a, y, {"a": a, "x": x}


def inputs():
    return (torch.randn(2),)

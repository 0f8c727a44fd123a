"""A conditional expression on a number and on None."""

import torch

GRAPHS = 2


def fn(x, bias=None, scale=2):
    y = x if bias is None else x + bias
    return y * (scale if scale > 1 else 1)


def calls():
    x = torch.randn(3)
    return [(x,), (x, torch.randn(3)), (x,)]

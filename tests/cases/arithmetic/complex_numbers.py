"""Complex constants and tensors."""

import torch

GRAPHS = 1


def fn(x):
    y = x * (1 + 2j)
    return y.real, y.imag, y.abs(), (1 + 2j) * 2


def inputs():
    return (torch.randn(3),)

"""Bit operators on integer tensors."""

import torch

GRAPHS = 1


def fn(x, y):
    return x & y, x | y, x ^ y, x << 1, x >> 1, ~x, -x, +x


def inputs():
    return torch.arange(6), torch.arange(6) * 3

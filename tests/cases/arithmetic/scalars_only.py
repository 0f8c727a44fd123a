"""Arithmetic on Python numbers, folded into the graph's constants."""

import torch

GRAPHS = 1


def fn(x, n):
    k = (n + 3) * 2 - n // 2 + n % 3 + n**2
    f = n / 4 - 0.5
    return x * k + f, k, f, -n, +n, ~n, n << 2, n >> 1, n & 5, n | 8, n ^ 3


def inputs():
    return torch.randn(3), 7

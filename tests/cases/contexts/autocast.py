"""Autocast on the CPU."""

import torch


def fn(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
    return y, y.float() + 1


def inputs():
    return torch.randn(2, 3), torch.randn(3, 2)

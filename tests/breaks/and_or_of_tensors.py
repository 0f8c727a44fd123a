"""`and`, `or` and `not` of tensors."""

import torch


def fn(x):
    return x * 2 if x.sum() > 0 and x.max() < 9 else x


def instead(x):
    return torch.where((x.sum() > 0) & (x.max() < 9), x * 2, x)


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""Python's `sorted` of tensors."""

import torch


def fn(x):
    return torch.stack(sorted([x[0], x[1], x[2]], reverse=True))


def instead(x):
    return x[:3].sort(descending=True).values


def inputs():
    return (torch.linspace(-1, 2, 4),)

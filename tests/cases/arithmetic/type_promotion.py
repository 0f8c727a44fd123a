"""Result types of mixed operands."""

import torch

GRAPHS = 1


def fn(i, f, h, b):
    return i + f, i * 2, i * 2.0, h + f, h + 1, b + b, b * i, i / 2, h * 2.5, b.sum()


def inputs():
    return (
        torch.arange(3),
        torch.randn(3),
        torch.randn(3).half(),
        torch.tensor([True, False, True]),
    )

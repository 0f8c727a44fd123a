"""zip, enumerate, reversed, strict and not."""

import torch

GRAPHS = 1


def fn(xs, ys):
    total = 0
    for i, (a, b) in enumerate(zip(xs, ys), start=1):
        total = total + a * b * i
    for a, b in zip(reversed(xs), ys, strict=True):
        total = total - a + b
    return total, list(zip("ab", [1, 2, 3])), list(enumerate("xy")), list(zip())


def inputs():
    return [torch.ones(2), torch.randn(2)], (2, 3)

"""An inner function rebinds a local of the outer one."""

import torch

GRAPHS = 1


def fn(x):
    count = 0

    def bump(y):
        nonlocal count
        count += 1
        return y + count

    a = bump(x)
    b = bump(a)
    return a, b, count


def inputs():
    return (torch.randn(2),)

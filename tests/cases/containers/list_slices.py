"""Reading, storing and deleting slices of a list."""

import torch

GRAPHS = 1


def fn(x):
    a = list(range(10))
    b = a[2:8:2]
    a[0:2] = [100, 200, 300]
    del a[-3:]
    a[::2] = [0] * len(a[::2])
    return x + a[1], a, b, a[-1], a[100:], a[::-1]


def inputs():
    return (torch.randn(3),)

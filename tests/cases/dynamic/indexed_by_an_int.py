"""An int that changes is an index of a tensor in one graph: read, written, from the end."""

import torch

GRAPHS = 2


def fn(x, n):
    y = x * 2
    y[n] = 1.5
    y[-n] += 1
    return x[n], x[n - 1], y, x[n, 1], x.select(0, n)


def calls():
    x = torch.arange(15.0).reshape(5, 3)
    return [(x, n) for n in (1, 2, 3, 4, 2)]

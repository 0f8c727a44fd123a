"""A while loop over plain values, with break in the middle."""

import torch

GRAPHS = 1


def fn(x, n):
    while True:
        n -= 1
        if n < 0:
            break
        if n % 2:
            continue
        x = x + n
    return x, n


def inputs():
    return torch.ones(2), 5

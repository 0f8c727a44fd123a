"""Loops in loops, the outer left from the inner by a flag."""

import torch

GRAPHS = 1


def fn(x):
    found = None
    for i in range(3):
        for j in range(3):
            x = x + i * j
            if i * j == 2:
                found = (i, j)
                break
        if found:
            break
    return x, found


def inputs():
    return (torch.ones(2),)

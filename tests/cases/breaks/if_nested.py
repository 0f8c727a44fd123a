"""A branch on a tensor inside a branch on a tensor."""

import torch

GRAPHS = 7


def fn(x):
    if x.sum() > 0:
        if x.max() > 5:
            return x + 100
        x = x + 1
    elif x.min() < -5:
        x = x - 100
    return x * 2


def calls():
    return [(torch.ones(2) * k,) for k in (1, 10, -1, -10, 1)]

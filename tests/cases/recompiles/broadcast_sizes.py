"""Sizes 0, 1 and more."""

import torch

GRAPHS = 4


def fn(x, y):
    return x + y, (x * y).sum()


def calls():
    return [
        (torch.ones(2, 1), torch.ones(3)),
        (torch.ones(2, 3), torch.ones(3)),
        (torch.ones(0, 3), torch.ones(1)),
        (torch.ones(()), torch.ones(1)),
    ]

"""A branch on a tensor in the middle, both ways."""

import torch

GRAPHS = 3


def fn(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    return y - 3


def calls():
    return [(torch.ones(2),), (-5 * torch.ones(2),), (torch.ones(2),)]

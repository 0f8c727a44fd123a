"""A tensor compared with a number inside a longer condition."""

import torch

GRAPHS = 7


def fn(x, n):
    if n > 0 and x.sum() > n and not x.min() < 0:
        return x + n
    return x - n


def calls():
    return [(torch.ones(2), 1), (torch.ones(2), 3), (torch.ones(2), 0), (-torch.ones(2), 1)]

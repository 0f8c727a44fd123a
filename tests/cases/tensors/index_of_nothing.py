"""A list of indices is not looked at where nothing is read: another dimension is empty."""

import torch

SNAPSHOT = False
GRAPHS = 2


def fn(x):
    return x[[9]], x[:, 1:][[4, -7]], x.sum()


def calls():
    return [(torch.ones(3, 0),), (torch.ones(3, 0, 2),)]

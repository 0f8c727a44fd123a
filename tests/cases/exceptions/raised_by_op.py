"""An op that fails on its shapes."""

import torch

GRAPHS = 1


def fn(x, y):
    z = x + 1
    return z @ y


def calls():
    return [(torch.ones(2, 3), torch.ones(3, 2))]

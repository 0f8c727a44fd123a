"""A tensor assertion after which the graph goes on."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1
    assert y.sum() > 0, "negative"
    return y * 2


def calls():
    return [(torch.ones(2),), (torch.ones(2),)]

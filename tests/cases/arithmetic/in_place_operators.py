"""Augmented assignment to a tensor made here: it changes in place, its alias with it."""

import torch

GRAPHS = 1


def fn(x):
    y = x.clone()
    z = y
    y += 1
    y *= 2
    y -= x
    y /= 3
    y **= 2
    return y, z


def inputs():
    return (torch.randn(4),)

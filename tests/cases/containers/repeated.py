"""Repeating nothing, repeating once, adding nothing; what would not fit is left to Python."""

import torch

GRAPHS = 1


def fn(x):
    t = tuple(range(3))
    same = t * 1 is t, t + () is t, () + t is t, t * 2 is t
    many = [0] * 300_000
    return x + len(many), same, [] * 10**15, () * 10**15, len(many * 2)


def inputs():
    return (torch.ones(2),)

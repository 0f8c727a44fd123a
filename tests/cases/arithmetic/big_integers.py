"""Integers beyond 64 bits stay Python's."""

import torch

GRAPHS = 1


def fn(x):
    big = 2**100 + 1
    return x + big % 1000, big, big >> 90


def inputs():
    return (torch.zeros(2),)

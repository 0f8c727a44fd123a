"""Inputs and results of ops that nobody uses."""

import torch

GRAPHS = 1


def fn(x, unused, flag=True):
    dead = x * 100
    dead = dead.sin()
    return x + 1


def inputs():
    return torch.ones(2), torch.ones(3)

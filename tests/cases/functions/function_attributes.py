"""Attributes of a function as state."""

import torch

GRAPHS = 1


def helper(x):
    helper.calls += 1
    return x + helper.calls


helper.calls = 0


def fn(x):
    return helper(x) * 2, helper.calls


def calls():
    return [(torch.ones(2),)]

"""A variable of the environment is read between two operations of one graph."""

import os

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    x = x * 2
    return x + len(os.environ.get("FERRODYN_CASE_ABSENT", "abc")) + len(os.environ["PATH"])


def inputs():
    return (torch.ones(2),)

"""A break inside a comprehension."""

import sys

import torch

GRAPHS = 1


def show(i):
    sys.stdout.write(f"{i}\n")
    return i


def fn(x):
    items = [x * show(i) for i in range(3)]
    return sum(items), {k: show(k) for k in (7, 8)}


def inputs():
    return (torch.ones(2),)

"""A break inside a generator that a loop consumes."""

import sys

import torch

GRAPHS = 0
BYTECODE = True


def parts(x):
    for i in range(2):
        sys.stdout.write(f"part {i}\n")
        yield x + i


def fn(x):
    total = 0
    for p in parts(x):
        total = total + p * 2
    return total


def inputs():
    return (torch.ones(2),)

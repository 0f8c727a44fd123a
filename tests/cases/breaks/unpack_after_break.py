"""Results of an unsupported call are unpacked, stored and passed on."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def outside(x):
    sys.stdout.write("outside\n")
    return x + 1, {"k": [x * 2]}


def fn(x):
    a, b = outside(x)
    b["k"].append(a)
    first, *rest = b["k"]
    return first + a, rest


def inputs():
    return (torch.ones(2),)

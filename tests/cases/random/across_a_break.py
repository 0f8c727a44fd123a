"""Random ops before and after a break."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def fn(x):
    a = torch.rand(2)
    sys.stdout.write("break\n")
    b = torch.rand(2)
    return x + a, b


def inputs():
    return (torch.ones(2),)

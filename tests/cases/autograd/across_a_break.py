"""Gradients flow across a graph break."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def fn(x):
    y = x * 2
    sys.stdout.write("break\n")
    return (y**2).sum()


def inputs():
    return (torch.randn(3, requires_grad=True),)

"""Several breaks with nothing and with something between them."""

import sys

import torch

GRAPHS = 2


def fn(x):
    sys.stdout.write("a\n")
    sys.stdout.write("b\n")
    x = x + 1
    sys.stdout.write("c\n")
    x = x * 2
    return x


def inputs():
    return (torch.ones(2),)

"""Cells that an inner function rebinds, before and after a break."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def fn(x):
    n = 1

    def bump():
        nonlocal n
        n += 1
        return n

    y = x + bump()
    sys.stdout.write("break\n")
    z = y * bump()
    return z, n


def inputs():
    return (torch.ones(2),)

"""A part of the program that only sets the grad mode makes no graph of its own."""

import sys

import torch

GRAPHS = 1


def fn(x):
    torch.set_grad_enabled(False)
    sys.stdout.write(f"{torch.is_grad_enabled()}\n")
    y = x * 2
    torch.set_grad_enabled(True)
    return y, y.requires_grad, torch.is_grad_enabled()


def inputs():
    return (torch.ones(2, requires_grad=True),)

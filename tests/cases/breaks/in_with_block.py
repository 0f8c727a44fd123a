"""A break inside `with torch.no_grad()`."""

import sys

import torch

GRAPHS = 2
BYTECODE = True


def fn(x):
    y = x * 2
    with torch.no_grad():
        z = y + 1
        sys.stdout.write(f"inside {torch.is_grad_enabled()}\n")
        w = z * 3
    return w + y, torch.is_grad_enabled()


def inputs():
    return (torch.ones(2, requires_grad=True),)

"""A graph break inside autocast: the context stays on, and is left where the program leaves it."""

import sys

import torch

GRAPHS = 4
REFERENCE_GRAPHS = 5
BYTECODE = True


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cast = torch.autocast("cpu", dtype=torch.bfloat16)
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def inner(self, x):
        y = x @ self.weight
        sys.stdout.write(f"{y.dtype} {torch.is_autocast_enabled('cpu')}\n")
        return y @ self.weight

    def forward(self, x):
        with self.cast:
            y = x @ self.weight
            sys.stdout.write(f"{y.dtype} {torch.is_autocast_enabled('cpu')}\n")
            z = self.inner(x)
        return y, z, x @ self.weight, torch.is_autocast_enabled("cpu")


def make():
    return Model()


def inputs():
    return (torch.randn(2, 3),)

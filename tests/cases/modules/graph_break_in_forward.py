"""A break inside a submodule's forward, in a loop of the parent."""

import sys

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 2
BYTECODE = True


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.lin(x)
        sys.stdout.write("noisy\n")
        return y + 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Noisy(), Noisy()])

    def forward(self, x):
        for part in self.parts:
            x = part(x) * 2
        return x


def make():
    return Net()


def inputs():
    return (torch.randn(2, 2),)

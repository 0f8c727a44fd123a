"""One torch.nn.Linear."""

import torch

GRAPHS = 1


def make():
    return torch.nn.Linear(3, 4)


def inputs():
    return (torch.randn(2, 3),)

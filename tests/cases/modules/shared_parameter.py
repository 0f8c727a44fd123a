"""One parameter used by two modules: gradients add up once each."""

import torch

GRAPHS = 1


def make():
    a = torch.nn.Linear(3, 3)
    b = torch.nn.Linear(3, 3)
    b.weight = a.weight
    return torch.nn.Sequential(a, b)


def inputs():
    return (torch.randn(2, 3),)

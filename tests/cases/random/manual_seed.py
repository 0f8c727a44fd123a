"""manual_seed inside the function."""

import torch

GRAPHS = 1


def fn(x):
    torch.manual_seed(5)
    return x + torch.rand(2)


def inputs():
    return (torch.ones(2),)

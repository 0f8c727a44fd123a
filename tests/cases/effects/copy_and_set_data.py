"""copy_, zero_, clone and detach of inputs."""

import torch

GRAPHS = 1
BYTECODE = True


def fn(x, y):
    old = x.clone()
    x.copy_(y)
    y.zero_()
    d = x.detach()
    d += 1
    return old, x, d


def inputs():
    return torch.randn(3), torch.randn(3)

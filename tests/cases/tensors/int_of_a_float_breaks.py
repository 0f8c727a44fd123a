"""`.item()` and float() of a tensor stay in the graph; int() of a float ends it."""

import torch

GRAPHS = 2
BYTECODE = True


def fn(x):
    n = x.sum().item()
    y = x * n
    k = int(x[0])
    return y + k, float(x.max()), n


def inputs():
    return (torch.tensor([1.0, 2.0]),)

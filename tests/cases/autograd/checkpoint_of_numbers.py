"""A checkpointed function of ints and floats that change is one graph."""

import torch
from torch.utils.checkpoint import checkpoint

GRAPHS = 2
REFERENCE_GRAPHS = 4


def scaled(x, n, f):
    return (x * n).sin() * f


def fn(x, n, f):
    return checkpoint(scaled, x, n, f, use_reentrant=False) + checkpoint(
        scaled, x, max(n, 4), f=f, use_reentrant=False
    )


def calls():
    numbers = [(2, 0.5), (3, 0.25), (5, 1.5), (4, -2.0)]
    return [(torch.randn(3, requires_grad=True), n, f) for n, f in numbers]

"""assert of plain values: one that holds, one that fails with a message."""

import torch

GRAPHS = 1


def fn(x, n):
    assert x.dim() == 1
    assert n > 0, f"n must be positive, got {n}"
    return x * n


def calls():
    return [(torch.ones(2), 1), (torch.ones(2), -1), (torch.ones(2), 1)]

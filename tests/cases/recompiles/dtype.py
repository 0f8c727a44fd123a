"""A new dtype is compiled anew."""

import torch

GRAPHS = 3


def fn(x):
    return x + 1


def calls():
    kinds = [torch.float32, torch.float64, torch.int64, torch.float32]
    return [(torch.ones(2, dtype=kind),) for kind in kinds]

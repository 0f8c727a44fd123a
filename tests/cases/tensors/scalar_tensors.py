"""0-d tensors mixed with Python numbers."""

import torch

GRAPHS = 1


def fn(x, s):
    return x * s, s + 1, s * s, x**s, torch.maximum(x, s), s.dtype


def inputs():
    return torch.rand(3), torch.tensor(2.0)

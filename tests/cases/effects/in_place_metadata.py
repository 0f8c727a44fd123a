"""In-place changes of an input's shape and dtype-preserving metadata."""

import torch

GRAPHS = 1
BYTECODE = True
REFERENCE_WRONG = "raises IndexError"


def fn(x, y):
    x.unsqueeze_(0)
    y.t_()
    y.squeeze_()
    return x.sum() + y.shape[0]


def inputs():
    return torch.randn(3, 2), torch.randn(2, 3)

"""torch._check that fails raises what it raises."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1
    torch._check(y.shape[0] > 3, lambda: f"too small: {tuple(y.shape)}")
    return y


def inputs():
    return (torch.randn(2, 3),)

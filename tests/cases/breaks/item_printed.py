"""What `.item()` gives may be printed, formatted and tested: one graph for all values."""

import math

import torch

GRAPHS = 3  # in front of the break; behind it a constant, then a changing number
REFERENCE_GRAPHS = None


def fn(x):
    y = x * 2
    loss = y.sum().item()
    print("loss", loss, f"{loss:.3f}")
    if math.isnan(loss):
        return x, "nan"
    return y + 1, str(round(loss, 1))


def calls():
    return [(torch.ones(3) * i,) for i in range(1, 11)]

"""NumPy's number and an int that changes make a number that the graph has."""

import numpy as np
import torch

BREAKS = []
GRAPHS = 2
REFERENCE_WRONG = "gives arrays for numbers"
SNAPSHOT = False


def fn(x):
    n = x.shape[0]
    return x + np.int64(3) * n, n * np.int64(2), x * (n - np.int32(1)), np.int64(7) // n


def calls():
    return [(torch.randn(n),) for n in (3, 4, 5)]

"""NumPy's classes of numbers say of which dtype an array is, and what kind a number is."""

import numpy as np
import torch

GRAPHS = 2
SNAPSHOT = False


def fn(x, n):
    kinds = np.issubdtype(type(n), np.integer), np.issubdtype(np.float32, np.floating)
    grid = np.ones((2, 3)).astype(np.complex64)
    more = np.zeros(3, dtype=np.complex128) + 1
    return x + kinds[0], kinds, grid, more, np.nan_to_num(grid)


def calls():
    return [(torch.randn(3), 4), (torch.randn(3), 4.5)]

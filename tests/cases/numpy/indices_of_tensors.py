"""Tensors are read and written at places that NumPy's arrays and ints say."""

import numpy as np
import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x, at, mask, one):
    y = x * 2
    read = y[at], y[0, at], y[:, at.astype(np.int16)], y[np.array([[0, 1], [1, 0]])], y[one]
    y[at] = 0
    y[one, at] += 1
    y[mask] = 5
    at = at + 0
    at[0] = 2
    clipped = np.clip(x.numpy(), a_min=1.5, a_max=3)
    return read, y, y[at], torch.asarray(clipped, dtype=torch.float64)


def inputs():
    x = torch.arange(9.0).reshape(3, 3)
    return x, np.array([2, 0]), np.array([True, False, True]), np.int64(1)


def calls():
    x = torch.ones(3, 3)
    return [inputs(), (x, np.array([1, 1]), np.array([False, False, True]), np.int64(1))]


REFERENCE_WRONG = "dtypes of indices are no others under torch.compile"

"""NumPy arrays made from and turned into tensors."""

import numpy as np
import torch

GRAPHS = 1


def fn(x, a):
    y = torch.from_numpy(a) + x
    return y, y.numpy().sum(), np.float64(2.0) * 3


def inputs():
    return torch.ones(3, dtype=torch.float64), np.arange(3.0)


BACKWARD = False
REFERENCE_WRONG = "a NumPy scalar becomes an array"

"""A number of NumPy's that the graph computes, as an operand of tensors."""

import numpy as np
import torch

GRAPHS = 1


def fn(x, a):
    return x * a.mean(), a.sum() + x, x / a[0], np.float64(2) * x


def inputs():
    return torch.rand(3), np.arange(3.0) + 1


REFERENCE_WRONG = "numbers become arrays"

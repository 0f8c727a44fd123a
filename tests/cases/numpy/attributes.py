"""Attributes of arrays."""

import numpy as np
import torch

GRAPHS = 1


def fn(x, a):
    b = x.numpy()
    looks = a.shape, a.ndim, a.size, a.itemsize, a.nbytes, a.strides, len(a), b.strides
    return looks, a.T, b.real, b.imag, (a + 1).T.shape


def inputs():
    return torch.ones(2, 3), np.ones((4, 2))


REFERENCE_WRONG = "other strides of a view, and what is read only"

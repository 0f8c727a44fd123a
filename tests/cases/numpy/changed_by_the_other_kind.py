"""A tensor refuses to be changed by an array, and an array by a tensor: what is made is new."""

import warnings

import numpy as np
import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "torch changes them in place"


def fn(t, a):
    was_t, was_a = t, a
    t *= a
    t %= np.arange(1, 4)
    a /= was_t
    return t, a, was_t, was_a, t is was_t


def inputs():
    warnings.simplefilter("ignore")
    return torch.tensor([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0], dtype=np.float32)

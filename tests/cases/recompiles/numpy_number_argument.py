"""A NumPy number whose value is asked for is held to its type and value; nan equals nan."""

import numpy as np
import torch

GRAPHS = 5
REFERENCE_GRAPHS = 4


def fn(x, n):
    return x * n.item()


def calls():
    two, three, nan = np.float64(2), np.float64(3), np.float64("nan")
    numbers = two, np.float64(2), np.float32(2), three, nan, np.float64("nan"), np.int64(2)
    return [(torch.ones(2), n) for n in numbers]

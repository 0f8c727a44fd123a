"""A NumPy number is held to its type, and to its value until it is another one; nan equals nan."""

import numpy as np
import torch

GRAPHS = 4
SNAPSHOT = False


def fn(x, n):
    return x * n.item()


def calls():
    two, three, nan = np.float64(2), np.float64(3), np.float64("nan")
    numbers = two, np.float64(2), np.float32(2), three, nan, np.float64("nan"), np.int64(2)
    return [(torch.ones(2), n) for n in numbers]

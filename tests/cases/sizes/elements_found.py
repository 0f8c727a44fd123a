"""Whether a tensor or an array has an element, and floats of tensors as ints, in the graph."""

import numpy as np
import torch

GRAPHS = 1
SNAPSHOT = False
OPTIONS = {"capture_scalar_outputs": True}


def fn(x, n):
    m = x * 2
    found = 3 in m, 4 not in m, x[0] in m, 2 in n * 2, np.int64(9) in n + 1
    return found, int(m[0] + 0.5), int(m.sum()), float((m > 2).sum()), bool((n * 2 == 4).any())


def calls():
    ones = torch.arange(3.0), np.arange(3)
    return [ones, (torch.tensor([1.5, 2.0, 7.0]), np.array([8, 1, 0]))]

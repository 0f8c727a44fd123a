"""NumPy's numbers that change, in places that need their values: constants of a graph for each."""

import numpy as np
import torch

BREAKS = []
GRAPHS = 3
REFERENCE_WRONG = "does not capture it"
SNAPSHOT = False


def fn(x, n):
    y = x.reshape(n, -1) * 2
    for _ in range(n):
        y = y + n
    return y, {2: "two", 3: "three", 4: "four"}[n], f"{n * 2}"


def calls():
    return [(torch.arange(12.0), np.int64(n)) for n in (2, 3, 4)]

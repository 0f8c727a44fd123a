"""Where Python needs what NumPy's number and a dynamic int make: a constant of a graph for each."""

import numpy as np
import torch

BREAKS = []
GRAPHS = 3
REFERENCE_WRONG = "breaks the graph"
SNAPSHOT = False


def fn(x):
    n = x.shape[0]
    for i in range(n - np.int64(2)):
        x = x + i
    return x if np.int64(3) * n > 10 else x * 2, f"{n * np.int64(2)}"


def calls():
    return [(torch.randn(n),) for n in (3, 4, 5)]

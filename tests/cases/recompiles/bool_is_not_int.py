"""True and 1, 1 and 1.0 are different constants."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 5


def fn(x, n):
    return x + 1, n, type(n).__name__


def calls():
    x = torch.ones(2)
    return [(x, 1), (x, True), (x, 1.0), (x, 0.0), (x, -0.0), (x, 1)]

"""What a function refuses, or gives too large for a graph, is for Python: a guard finds it."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 7
SNAPSHOT = False


def fn(x, f):
    try:
        return x * int(f), int(f) + 1
    except (OverflowError, ValueError) as error:
        return x - 1, type(error), str(error)


def calls():
    floats = [2.5, 3.5, float("nan"), 7.0, float("inf"), 1e18, -3.5, 1e30, -1e30, 0.25, 1.5]
    return [(torch.ones(3, dtype=torch.float64), f) for f in floats]

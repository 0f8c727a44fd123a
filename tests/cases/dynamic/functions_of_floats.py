"""What Python's functions make of a float that changes is computed beside the graph."""

import math

import torch

GRAPHS = 3  # a constant; changing, on each side of the comparison


def fn(x, s):
    if s > 0.5:
        x = x + 1
    return x * math.sqrt(s), f"{s:.1f}", 1 / (s + 1), s


def calls():
    return [(torch.ones(3), s) for s in [0.25, 0.5, 0.75, 1.0, 0.25]]

"""Comparisons of floats that are no usual numbers: zeros of both signs, nan, the bound itself."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 8


def fn(x, s):
    if s:
        x = x + 1
    if s >= 1:
        x = x * 2
    if 1.0 != s:
        x = x - 3
    return x * s, s < True, s == 0, s > 10**400, 1 - s > 0.5


def calls():
    nan, inf = float("nan"), float("inf")
    values = [0.5, 2.0, 0.0, -0.0, nan, 1.0, inf, -inf, nan, 1.0, 0.25, 5e-324]
    return [(torch.ones(3), s) for s in values]

"""Ints that are made of sizes by division, powers and rounding stay expressions of the sizes."""

import math

import torch

GRAPHS = 2


def fn(x):
    n = x.shape[0]
    half = x[: int(n / 2)] * 2
    nearest = torch.zeros(round(n / 4) + 1)
    more = torch.ones(math.ceil(n * 0.75), math.floor(n / 3))
    made = torch.tensor([n, 2 * n]) + 1
    return half, nearest, more, made, x / n**0.5, x * (n**0.5 / math.sqrt(n))


def calls():
    return [(torch.randn(n, 2),) for n in (4, 6, 9, 10, 14, 27)]

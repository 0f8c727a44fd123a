"""An int that a function makes of numbers that change is a number of the graph."""

import math

import torch

GRAPHS = 2
SNAPSHOT = False


def fn(x, f):
    side = int(math.sqrt(x.shape[0]))
    square = x[: side * side].view(side, side, -1).transpose(0, 1).sum(0)
    kept = torch.topk(x, max(2, int(x.shape[0] * f)), dim=0).values
    y = x * math.floor(f * 10) + round(f * 7) - math.isqrt(x.shape[0]) * math.gcd(x.shape[0], 12)
    return square, kept, y, x.new_zeros(math.ceil(f * 20), 2), int(f * 100)


def calls():
    shares = [(9, 0.5), (16, 0.75), (30, 0.625), (49, 0.375), (50, 1.0)]
    return [(torch.randn(n, 3), f) for n, f in shares]


#: torch.compile knows neither `isqrt` nor `gcd` of sizes.
REFERENCE_GRAPHS = 5

"""A float that changes is a number for the graph; what is computed from it is computed beside."""

import torch

GRAPHS = 2


def fn(x, ints, s, seen):
    y = x * (1 - s) + s / 4
    y = torch.add(y, x, alpha=-s).sub(s * 2)
    y += s
    seen.append(s)
    z = torch.where(x > s, s, x).clamp(max=s)
    return y, s - x, x**s, x == s, z, ints * s, ints + s, x.masked_fill(x > 0, s), s * s, [s]


def calls():
    x, ints = torch.tensor([1.0, -2.0, 30.0]), torch.tensor([1, 2, 3], dtype=torch.int8)
    floats = [0.5, 1.5, 0.0, -0.0, float("inf"), float("nan"), 1e300]
    return [(x.clone(), ints, s, []) for s in floats]

"""What comparisons of sizes, ints and floats say is no constant where nothing is decided by it."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 5


def fn(x, n, f):
    size = x.shape[0]
    is_long, is_small = size > n, f < 0.5
    flags = {"long": is_long, "small": not is_small, "same": size == n, "any": bool(f)}
    joined = is_long & (n > 2), is_long | is_small, is_long + 1, is_small is None
    return x * is_long + is_small, flags, joined, x / (1 + int(is_small)), torch.ones(2) * (n < f)


def calls():
    numbers = [(3, 5, 0.25), (6, 4, 0.75), (5, 5, 0.5), (9, 2, 0.0), (4, 7, float("nan"))]
    return [(torch.randn(size, 2), n, f) for size, n, f in numbers]

"""What is computed from a changing int is Python's own int, however large."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 8

VALUES = [1, 2, 3, -5, 0, 7, 2**40, -(2**63), 2**63 - 1, 2**70, 12]


def fn(x, n, m):
    total = n * m - (n - 3)
    bits = (n & 12, n | m, n ^ 5, ~n, n >> 2, n << 3)
    parts = (-n, +n, abs(n), n // 7, n % 7, n // -7, n % -7, n**2)
    return x + 1, total, bits, parts, int(n)


def calls():
    x = torch.ones(2)
    return [(x, n, m) for n in VALUES for m in (3, n)]

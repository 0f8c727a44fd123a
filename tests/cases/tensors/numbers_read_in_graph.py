"""A number that is read from a tensor goes on into operations, results and later text."""

import torch

GRAPHS = 1


def fn(x, i):
    n = x.sum().item()
    k = i.item()
    written = x.clone()
    total = written.sum()
    before = total.item()
    total.add_(100)
    y = x * n + 2 * n - k * 3
    summed = 0.0
    for _ in range(3):
        y = y * 0.5
        summed += y.sum().item()
    print("read", n, k)
    filled = torch.full((2,), n)
    return y, filled, n, k, -k, before, total, summed, torch.clamp(x, max=float(x.max()))


def calls():
    return [(torch.randn(3), torch.tensor(i, dtype=torch.int32)) for i in range(3)]

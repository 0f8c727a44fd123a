"""Ints that the graph reads are divided and shifted by one another; it checks divisors."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
REFERENCE_WRONG = "what fails is an error of torch.compile's own"
SNAPSHOT = False


def fn(t, u, y):
    n, m = t.item(), u.item()
    low, high = min(n, m, 5), max(n, m)
    parts = [n // m, n % m, n**2, n << 2, n & 6, n | 1, torch.sym_max(n, 3), sum([n, m, 4])]
    return [y * part for part in parts], y[: abs(low)] * high


def calls():
    pairs = [(7, 2), (-7, 3), (6, -4), (5, 0)]
    return [(torch.tensor(n), torch.tensor(m), torch.ones(8)) for n, m in pairs]

"""A computation that grows without end becomes a number again."""

import torch

GRAPHS = 3


def fn(x, n):
    k = n
    for _ in range(100):
        k = (k * 3 + n) % 1009
    for i in range(200):
        n = n + i
    return x + k, k, n


def calls():
    x = torch.ones(2)
    return [(x, n) for n in [5, 6, 7]]

"""What is decided by a number that the graph reads ends the graph, and finds it read."""

import math

import torch

BREAKS = ["Value that is made when the compiled code runs is needed"]
SNAPSHOT = False


def fn(x, i):
    n = x.sum().item()
    y = x * n
    if n > 0:
        y = y + 1
    k = i.item()
    return y[:k], y * math.sqrt(abs(n)), f"{n:.3f}", 0.5**k, x.to(torch.float64) ** n


def calls():
    return [(torch.rand(4) - j % 2 * 2, torch.tensor(j + 1)) for j in range(4)]

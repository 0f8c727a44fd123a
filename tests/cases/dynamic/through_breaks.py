"""A changing int goes over a graph break, into resume functions and inlined frames."""

import torch

GRAPHS = 6
BYTECODE = True


def noisy(x, n):
    k = n * 2
    x = x + k
    torch._dynamo.graph_break()
    return x * k, k + 1


def fn(x, n):
    y, k = noisy(x, n + 1)
    return y - n, k, n


def calls():
    x = torch.ones(2)
    return [(x, n) for n in range(3, 15)]

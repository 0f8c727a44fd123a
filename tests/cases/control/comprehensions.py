"""List, set, dict and nested comprehensions with conditions."""

import torch

GRAPHS = 1


def fn(x, items):
    a = [x + i for i in items]
    b = {i % 2 for i in items}
    c = {i: x * i for i in items if i > 1}
    d = [[i * j for j in range(i)] for i in items]
    e = [i + j for i in items for j in items if i != j]
    k = 5
    f = [k * i for i in items if (k := k + 1)]
    return a, b, c, d, e, f, k


def inputs():
    return torch.ones(2), (1, 2, 3)

"""Where an int decides about a shape, an item or a text, its value is guarded."""

import torch

GRAPHS = 4


def fn(x, n, items):
    y = torch.zeros(n) + 1
    return y, items[n], f"{n:03}", "%d" % n, {n: x}, list(range(n)), x.reshape(n, -1), x[:n]


def calls():
    x = torch.ones(12)
    items = ["a", "b", "c", "d", "e"]
    return [(x, n, items) for n in [1, 2, 3, 4, 2, 1]]

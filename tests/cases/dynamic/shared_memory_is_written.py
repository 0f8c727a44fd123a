"""Arguments of changing sizes that share memory, of which one is written to: a graph for all sizes."""

import torch

SNAPSHOT = False
GRAPHS = 2


def fn(x, y):
    x.add_(1)
    return y * 2, x.sum(0)


def calls():
    given = []
    for n in (3, 4, 6, 5, 9):
        whole = torch.arange(float(n * 2)).view(n, 2)
        given.append((whole, whole.t()))
    return given

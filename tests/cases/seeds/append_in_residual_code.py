"""A list append beside a graph: one graph, and the append happens once, in order."""

import torch

GRAPHS = 1
log = []


def fn(x, y):
    log.append("before")
    z = x + y
    log.append(z)
    return z * 2


def calls():
    return [(torch.randn(3), 2)]

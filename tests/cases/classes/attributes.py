"""An instance made in the function: attributes set and read."""

import torch

GRAPHS = 1


class Box:
    scale = 2

    def __init__(self, v):
        self.v = v
        self.n = 0

    def add(self, w):
        self.v = self.v + w
        self.n += 1
        return self


def fn(x):
    b = Box(x)
    b.add(x).add(1)
    b.extra = b.v * b.scale
    return b.extra, b.n, Box.scale


def inputs():
    return (torch.ones(2),)

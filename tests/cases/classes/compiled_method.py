"""A bound method is what is compiled."""

import torch

GRAPHS = 1


class M:
    def __init__(self):
        self.k = 3
        self.seen = 0

    def go(self, x):
        return x * self.k


def make():
    return M().go


def inputs():
    return (torch.ones(2),)

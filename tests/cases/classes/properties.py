"""A property with a setter, and one that is cached in the instance."""

import torch

GRAPHS = 1


class P:
    def __init__(self, w):
        self._w = w

    @property
    def w(self):
        return self._w * 2

    @w.setter
    def w(self, value):
        self._w = value + 1


def fn(x, p):
    a = p.w
    p.w = 10
    return x * a + p.w


def calls():
    return [(torch.ones(2), P(3)), (torch.ones(2), P(3))]

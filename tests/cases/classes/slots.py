"""A class with `__slots__`."""

import torch

GRAPHS = 1


class S:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


def fn(x, s):
    s.b = s.a + 1
    return x * s.b


def calls():
    return [(torch.ones(2), S(1)), (torch.ones(2), S(1))]

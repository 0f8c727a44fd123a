"""A class of parameters that changes what an operator does is left to plain Python."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


class Sevenfold(torch.nn.Parameter):
    def __add__(self, other):
        return torch.mul(self, 7)


WEIGHT = Sevenfold(torch.ones(3))


def fn(x):
    y = x * 2
    return WEIGHT + y, y + 1


def inputs():
    return (torch.ones(3),)

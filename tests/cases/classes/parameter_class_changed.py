"""What was captured of a parameter of the program's class holds while class and attributes do."""

import torch

GRAPHS = 7
REFERENCE_GRAPHS = 4


class Marked(torch.nn.Parameter):
    factor = 2

    def times(self):
        return self * self.factor


class Other(torch.nn.Parameter):
    factor = 5

    def times(self):
        return self - self.factor


WEIGHTS = [Marked(torch.ones(3))]


def before(index):
    Marked.factor = 3 if index == 1 else 2
    if index == 2:
        WEIGHTS[0].factor = 4
    if index == 3:
        WEIGHTS[0] = Other(torch.ones(3))
    if index == 4:
        Other.__add__ = lambda self, other: torch.zeros(3)
    if index == 5:
        del Other.__add__
        WEIGHTS[0].data = torch.ones(2, 3)
    if index == 0:
        WEIGHTS[0] = Marked(torch.ones(3))


def fn(x):
    weight = WEIGHTS[0]
    return weight.times() + x, weight + x


def calls():
    return [(torch.ones(3),)] * 6


COMPILED_WRONG = "fake tensors refuse a parameter of another shape than its gradient"

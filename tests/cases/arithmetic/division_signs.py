"""Floor division and remainder of negative numbers."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 4


def fn(x, a, b):
    return x + a // b, a // b, a % b, divmod(a, b), -a // b, -a % b, a / b


def calls():
    x = torch.ones(2)
    return [(x, -7, 2), (x, 7, -2), (x, -7.5, 2.0), (x, 7, 2)]

"""An argument that is a tensor, an int, a float, None, a list."""

import torch

GRAPHS = 6
REFERENCE_GRAPHS = 2


def fn(x, y):
    if y is None:
        return x
    if isinstance(y, list):
        return x + len(y)
    return x * y


def calls():
    x = torch.ones(2)
    values = [2, 2.5, None, [1], [1, 2], torch.ones(2), True, 2]
    return [(x, value) for value in values]

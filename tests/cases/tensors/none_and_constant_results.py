"""Functions that return None, constants, or nothing that was computed."""

import torch

GRAPHS = 4


def fn(x, what):
    y = x + 1
    if what == 0:
        return None
    if what == 1:
        return 3, "s", None, True
    if what == 2:
        return x
    return (y.shape,)


def calls():
    return [(torch.ones(2), i) for i in range(4)]

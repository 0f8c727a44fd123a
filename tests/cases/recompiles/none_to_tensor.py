"""An optional argument that is there in some calls."""

import torch

GRAPHS = 2


def fn(x, mask=None):
    if mask is not None:
        x = x * mask
    return x + 1


def calls():
    x = torch.ones(2)
    return [(x,), (x, torch.zeros(2)), (x,), (x, torch.zeros(2)), (x, {"mask=": None})]

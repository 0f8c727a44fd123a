"""Setting `requires_grad` to what it is changes nothing."""

import torch

GRAPHS = 1


def fn(x):
    mask = torch.ones(2)
    mask.requires_grad = False
    x.requires_grad = True
    return x * mask, mask.requires_grad


def inputs():
    return (torch.ones(2, requires_grad=True),)

"""The result of an operation without a rule has a history: it may be written in place."""

import torch

GRAPHS = 1


def fn(x, w):
    y = torch.special.entr(x.abs() + w)
    y.mul_(2)
    z = torch.special.entr(y)
    z.unsqueeze_(0)
    return y + 1, z


def inputs():
    return torch.ones(3, requires_grad=True), torch.full((3,), 0.5, requires_grad=True)

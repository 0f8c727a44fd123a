"""A tensor made inside becomes a leaf that stays inside, with gradients off and on."""

import torch

GRAPHS = 1
BACKWARD = True
SNAPSHOT = False


def fn(x, w):
    with torch.no_grad():
        y = torch.zeros_like(x).requires_grad_()
        rows = y.view(2, 2).transpose(0, 1)
        silent = rows @ rows + 1, y.requires_grad, y.is_leaf
    z = (x.detach() * 2).requires_grad_()
    z_says = z.requires_grad
    cut = (z * 3 + z).detach()
    mixed = (z * w).sum()
    return silent, z_says, cut, mixed


def inputs():
    return torch.arange(4.0), torch.ones(4, requires_grad=True)

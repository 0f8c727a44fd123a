"""detach, requires_grad and leaf status of results."""

import torch

GRAPHS = 1


def fn(x, w):
    y = x * w
    d = y.detach()
    return y, d, d + w, y.requires_grad, d.requires_grad, x.requires_grad


def inputs():
    return torch.randn(3), torch.randn(3, requires_grad=True)

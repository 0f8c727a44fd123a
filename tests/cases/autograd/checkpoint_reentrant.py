"""The reentrant checkpoint: only its arguments decide whether the results take part in autograd."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

linear = nn.Linear(4, 4)
drop = nn.Dropout(0.5)


def block(x, k):
    return drop(linear(x)) * k, x.detach().argmax(-1)


def fn(x):
    y, i = checkpoint(block, x.sin(), 3, use_reentrant=True)
    return y.cos(), i, y.requires_grad, i.requires_grad


def inputs():
    return (torch.randn(3, 4, requires_grad=True),)


GRAPHS = 1
REFERENCE_WRONG = "dropout is another when it is computed again"

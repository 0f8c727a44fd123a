"""A layer that is made within a device has its parameters there."""

import torch
from torch import nn

GRAPHS = 1
BACKWARD = False
# `Module.__init__` is another function where torch._dynamo was imported.
SNAPSHOT = False


def fn(x):
    with torch.device("meta"):
        layer = nn.Linear(2, 3)
        y = layer(torch.rand(2))
    return layer.weight, y, x + 1


def inputs():
    return (torch.randn(2),)

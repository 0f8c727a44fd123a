"""Statistics of a batch norm in a checkpointed function are updated in both of its runs."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True))


def fn(x):
    y = checkpoint(net, x, use_reentrant=False)
    with torch.no_grad():
        z = checkpoint(net, x, use_reentrant=False)
    return y, z


def inputs():
    return (torch.randn(2, 2, 5, 5, requires_grad=True),)


GRAPHS = 1

COMPILED_WRONG = "AOTAutograd traces the function once: one run updates the statistics"

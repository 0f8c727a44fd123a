"""A normalisation asks whether there is more than one value, also behind strided convolutions."""

import torch
from torch import nn

GRAPHS = 2
SNAPSHOT = False

net = nn.Sequential(
    nn.Conv2d(3, 4, 4, 2, 1), nn.Conv2d(4, 4, 4, 2, 1), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 2, 2)
)


def fn(x):
    return net(x)


def calls():
    shapes = [(2, 16, 16), (3, 24, 20), (4, 32, 28), (5, 20, 36)]
    return [(torch.randn(b, 3, h, w),) for b, h, w in shapes]

"""What a checkpointed function does besides computing is done twice: left to plain Python."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

linear = nn.Linear(4, 4)
seen = []


def effect(x):
    seen.append(len(seen))
    return linear(x)


def fn(x):
    new = []

    def local(x):
        new.append(len(new))
        return x.sin()

    y = checkpoint(effect, x, use_reentrant=False)
    z = checkpoint(local, y, use_reentrant=False)
    return z * 2, new


def inputs():
    return (torch.randn(3, 4, requires_grad=True),)


BREAKS = ["side effects"]

"""`torch.cuda.amp.autocast`, the old name: it is entered in the graph, and its warning is given."""

import torch
from torch.cuda.amp import autocast

GRAPHS = 1


def fn(x):
    with autocast(enabled=False):
        y = x.float() * 2
    with torch.cpu.amp.autocast(dtype=torch.bfloat16):
        z = x @ x
    return y, z


def inputs():
    return (torch.ones(2, 2),)

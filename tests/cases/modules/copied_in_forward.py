"""A module from outside that is copied in the function, and called."""

import copy

import torch
from torch import nn

GRAPHS = 1
REFERENCE_GRAPHS = 2

# Guards list the keys of copyreg's table, to which the process adds what it imports.
SNAPSHOT = False

torch.manual_seed(0)
linear = nn.Linear(3, 3)


def fn(x):
    x = x + 1
    layer = copy.deepcopy(linear)
    return layer(x)


def inputs():
    return (torch.ones(2, 3),)

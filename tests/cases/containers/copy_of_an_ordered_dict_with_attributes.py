"""An `OrderedDict` takes attributes, which its copies have too."""

import copy
from collections import OrderedDict

import torch

GRAPHS = 1

outside = OrderedDict(a=1)
outside.note = [1]


def fn(x):
    inside = OrderedDict(a=1)
    inside.note = [2]
    copies = [f(o) for o in (outside, inside) for f in (copy.copy, copy.deepcopy)]
    return x + 1, [c.note for c in copies], copies[0].note is outside.note


def inputs():
    return (torch.ones(2),)

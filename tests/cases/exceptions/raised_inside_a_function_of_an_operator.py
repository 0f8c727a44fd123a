"""What a number is converted to is not used, and it raises for some: inside of a function that an
operator is given."""

import math

import torch
from torch.utils.checkpoint import checkpoint

SNAPSHOT = False
GRAPHS = 2
REFERENCE_GRAPHS = 3


def fn(x, f):
    def body(y):
        int(f)
        return y.sin()

    return checkpoint(body, x, use_reentrant=False)


def calls():
    x = torch.arange(4.0, requires_grad=True)
    return [(x, f) for f in (1.5, 2.5, 3.5, math.inf, math.nan, 2.0)]

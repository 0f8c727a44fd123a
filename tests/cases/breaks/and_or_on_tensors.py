"""`and`, `or`, `not` and conditional expressions on tensors."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0


def fn(a, b):
    c = a and b
    d = a or b
    e = not a
    f = 1 if b else 2
    return c + d, e, f


def calls():
    one, zero = torch.tensor(1.0), torch.tensor(0.0)
    return [(one, zero), (zero, one), (one, one)]

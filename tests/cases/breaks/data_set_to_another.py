"""`t.data = other` changes what the tensor holds."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 3


def fn(x):
    y = x.clone()
    y.data = x.data * 2
    z = x.clone()
    data = z.data
    z.set_(torch.zeros(2))
    z.data = data
    x.data.mul_(3)
    return y + 1, z + 1


def inputs():
    return (torch.ones(2),)

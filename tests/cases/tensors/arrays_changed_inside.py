"""NumPy arrays that the program writes to after they were made, itself or through a tensor."""

import numpy
import torch

GRAPHS = 1


def fn(x):
    a = numpy.zeros(3, dtype=numpy.float32)
    torch.from_numpy(a).add_(1)
    b = a.copy()
    c = numpy.asarray(a)
    c[0] = 7
    d = numpy.ones(3)
    d *= 3
    e = numpy.sin(d, out=d)
    return x + torch.from_numpy(b), a, c is a, torch.tensor(a) * 2, d, e is d, d.shape


def inputs():
    return (torch.ones(3),)

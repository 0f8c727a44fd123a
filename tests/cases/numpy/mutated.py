"""Arrays that are written to: items, operators, methods, `out=`, views and tensors."""

import numpy as np
import torch

GRAPHS = 1


def fn(a, b, x):
    a[0] = 5
    a += b
    a[a > 6] = -1
    row = a[1]
    row *= 2
    np.exp(b, out=b)
    b.sort()
    shown = x.numpy()
    shown += 1
    torch.from_numpy(b).mul_(2)
    x.sub_(0.5)
    return a.reshape(-1), row, shown


def inputs():
    return np.arange(6.0).reshape(2, 3), np.array([3.0, 1.0, 2.0]), torch.ones(3)


# Torch's compilers take `sort` for one that gives a copy.
REFERENCE_WRONG = "a method in place"

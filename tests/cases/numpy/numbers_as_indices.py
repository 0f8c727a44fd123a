"""NumPy's integers that change are indices and sizes: of tensors, of arrays, and of functions."""

import numpy as np
import torch

GRAPHS = 2
# Torch's are tensors that the graph reads, and what an array's view gives is not written to.
REFERENCE_WRONG = "a write to a view of an array"
SNAPSHOT = False


def fn(t, a, k, n):
    row = a[k]
    row += 1
    a[n] = 7
    sized = torch.zeros(n, 2), t.narrow(0, 0, k), np.repeat(a[0], k)
    parts = t[k, :n], t[..., n] + 1, t[n + k], a[: k * 2], a[k, n], t[:6].view((-1, k + k - k + 0))
    return (
        t[k],
        t[n],
        row,
        a[k][0],
        type(a[k][0]),
        sized,
        parts,
        np.zeros((n, 2)),
        t.new_ones([k, n]),
    )


def calls():
    numbers = [(2, 3), (3, 2), (2, 4), (4, 3)]
    t, a = torch.arange(96.0).reshape(8, 12), np.arange(96.0).reshape(8, 12)
    return [(t, a, np.int64(k), np.int64(n)) for k, n in numbers]

"""NumPy's numbers as arguments, other ones on each call: operations of tensors read them."""

import numpy as np
import torch

GRAPHS = 1
REFERENCE_WRONG = "torch gives what a tensor of float64 gives: another dtype beside a scalar tensor"
SNAPSHOT = False


def fn(x, one, scale, count, pair):
    scaled = x * scale + count
    clamped = torch.clamp(x, max=pair[0]).add(one, alpha=pair[1])
    return scaled, clamped, count - x, x > scale, one * scale


def calls():
    rows = []
    for n in (3, 5, 7, 9):
        x, one = torch.arange(4.0).requires_grad_(), torch.tensor(2.0)
        pair = (np.float64(n / 4), np.int32(n))
        rows.append((x, one, np.float64(n + 0.5), np.int64(n), pair))
    return rows

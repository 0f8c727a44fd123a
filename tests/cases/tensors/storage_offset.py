"""Where views start, in inputs and in what is computed."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 10


def fn(x):
    y = x * 2
    first = y.storage_offset(), x.storage_offset()
    return first, y[1].storage_offset(), x[1:].storage_offset(), x[1:] + 1


def calls():
    base = torch.arange(12.0)
    return [(base[i : i + 6].view(3, 2),) for i in range(3)]


BACKWARD = False

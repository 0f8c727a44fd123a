"""A decision about a size is guarded, not the size."""

import torch

# One for the first size, then one for each way.
GRAPHS = 3


def fn(x):
    if x.shape[0] > 6:
        return x + 1
    return x - 1


def calls():
    return [(torch.ones(n, 2),) for n in [5, 7, 3, 9, 2, 12, 6]]

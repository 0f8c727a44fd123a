"""An assertion on a tensor that fails."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2


def fn(x):
    y = x + 1
    if not (y.sum() > 0):
        raise AssertionError("negative")
    return y * 2


def calls():
    return [(torch.ones(2),), (-5 * torch.ones(2),)]

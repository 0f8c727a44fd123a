"""Sizes that change may be printed, whole or in part, and computed with."""

import math

import torch

GRAPHS = 2  # no-op backend: constants, then changing ones
REFERENCE_GRAPHS = None


def fn(x):
    print(x.shape, x.shape[0], f"{tuple(x.shape)}", x.size())
    assert x.shape[1] == 2, f"bad {x.shape}"
    text = f"{x.shape[0]}x{x.shape[1]}" + " of %d" % x.numel()
    return x / math.sqrt(x.shape[0]), text, [x.shape[0] / 2], repr(x.shape)


def calls():
    return [(torch.arange(2.0 * n).view(n, 2),) for n in range(2, 12)]

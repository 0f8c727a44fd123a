"""Padding up to a fixed size: one graph for all sizes, also where nothing is added."""

import torch
import torch.nn.functional as F

SNAPSHOT = False
GRAPHS = 2
REFERENCE_GRAPHS = 5


def fn(x):
    return F.pad(x, (0, 8 - x.shape[0])) + 1, F.pad(x[None], (0, 8 - x.shape[0], 1, 0), value=2.0)


def calls():
    return [(torch.arange(float(n)),) for n in (5, 6, 8, 3, 7)]

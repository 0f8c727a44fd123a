"""A list of arrays of one dtype makes one tensor."""

import numpy as np
import torch

BREAKS = ["Argument that a graph can't hold"]
SNAPSHOT = False
REFERENCE_WRONG = "has no fake for arrays in a tuple"


def fn(x):
    rows = [np.arange(3.0), np.ones(3)]
    first = torch.tensor(rows)
    second = torch.tensor([np.array([1, 2]), np.array([3, 4])], dtype=torch.float32)
    third = torch.as_tensor(tuple(rows))
    mixed = torch.tensor([np.arange(2), np.ones(2)])
    return x + first, second, third, mixed


def inputs():
    return (torch.randn(3),)

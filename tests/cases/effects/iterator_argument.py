"""An iterator of the caller's is advanced."""

import torch

GRAPHS = 3
BYTECODE = True


def fn(it, x):
    a = next(it)
    return x + a


def calls():
    it = iter([1, 2, 3])
    return [(it, torch.ones(2)), (it, torch.ones(2)), (iter([5]), torch.ones(2))]

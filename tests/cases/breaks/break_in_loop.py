"""An unsupported call inside a loop, with state on the stack of the loop."""

import io

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0
BYTECODE = True


def fn(x, items):
    total = 0
    for i, item in enumerate(items):
        total = total + x * item
        torch.save(x, io.BytesIO())
        total = total + i
    return total


def inputs():
    return torch.ones(2), [1, 2, 3]

"""A call that cannot be captured in the middle of a function."""

import io

import torch

GRAPHS = 2
BUFFER = io.BytesIO()
BREAKS = ["Attempted to call function marked as skipped"]


def fn(x):
    y = x**2 / 2
    torch.save(y, BUFFER)
    z = y**3 / 6
    return z


def inputs():
    return (torch.randn(3),)

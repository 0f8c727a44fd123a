"""Library code asks whether TorchScript runs, annotates for it, and asks for limits of a dtype."""

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    if torch.jit.is_tracing() or torch.jit.is_scripting():
        return x
    scale = torch.jit.annotate(float, 2.0)
    low = torch.finfo(x.dtype).min
    high = torch.iinfo(torch.int8).max
    return x.masked_fill(x < 0, low) * scale, torch.full((2,), high)


def inputs():
    return (torch.arange(-2.0, 3.0),)

"""print of constants waits until the graph has run."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 2


def fn(x):
    y = x + 1
    print("n", 3, sep="=")
    print([1, {"a": x.shape}], x.dtype, f"{y.ndim:03}", None, end="|", flush=True)
    print()
    return y * 2


def inputs():
    return (torch.ones(2),)

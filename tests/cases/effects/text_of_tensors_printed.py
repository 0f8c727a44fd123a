"""A `print` of an f-string with tensors is made after the graph, with eager's text."""

import torch

GRAPHS = 1


def fn(x):
    y = x * 2
    print(f"mean {y.mean()}: {y.max():.3f}")
    return y + 1


def inputs():
    return (torch.tensor([1.0, 2.0, 3.0]),)

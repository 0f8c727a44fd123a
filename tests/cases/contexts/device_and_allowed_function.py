"""A function that is a node of the graph makes its tensors on the device that was entered."""

import torch

BACKWARD = False
BREAKS = ["Function allowed in the graph, called within a device"]


@torch.compiler.allow_in_graph
def made(n):
    return torch.ones(n)


def fn(x):
    with torch.device("meta"):
        inside = made(3)
    return x + 1, inside, made(2)


def inputs():
    return (torch.randn(2),)

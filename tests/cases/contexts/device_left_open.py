"""A device that is entered in front of a graph break and left behind it, by calls."""

import torch

GRAPHS = 3
BACKWARD = False


def fn(x):
    device = torch.device("meta")
    device.__enter__()
    made = torch.ones(2), x + 1
    torch._dynamo.graph_break()
    within = torch.ones(2)
    device.__exit__(None, None, None)
    return made, within, torch.ones(2), x + 1


def inputs():
    return (torch.randn(2),)

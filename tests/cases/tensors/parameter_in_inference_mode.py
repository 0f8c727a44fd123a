"""A parameter without gradients can be made where none are recorded."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "raises a NameError of its own"
COMPILED_WRONG = "parameters are made in front of the graph"


def fn(x):
    with torch.inference_mode():
        weight = torch.nn.Parameter(x, requires_grad=False)
        return x * weight, type(weight) is torch.nn.Parameter, weight.requires_grad


def inputs():
    return (torch.randn(3),)

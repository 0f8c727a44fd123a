"""`item()` of a tensor of one bool stays in the graph, which gives it out."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1
SNAPSHOT = False


def fn(x):
    some, each = (x > 0).any().item(), (x > 0).all().item()
    return some, each, some & each, x * 2


def calls():
    return [(torch.tensor([1.0, -1.0]),), (torch.ones(2),), (-torch.ones(2),)]

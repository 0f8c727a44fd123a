"""An operation that changes the size of one of two objects of a tensor breaks the graph."""

import torch

GRAPHS = 2
BREAKS = ["Tensor of two classes changed in place"]
SNAPSHOT = False


class Named(torch.Tensor):
    pass


def fn(x):
    y = x * 2
    named = y.as_subclass(Named)
    y.unsqueeze_(0)
    return y + 1, named + 1


def inputs():
    return (torch.arange(3.0),)

"""Tensors are converted to a type of the old kind, by the type and by its name."""

import torch

SNAPSHOT = False


def fn(x):
    return x.type(torch.IntTensor), x.type("torch.DoubleTensor"), x.type(dtype=torch.BoolTensor)


def inputs():
    return (torch.tensor([0.0, 1.5, -2.5]),)


GRAPHS = 1

"""Instances of `torch.autograd.Function`s, whose methods are static all the same."""

import warnings

import torch

SNAPSHOT = False
GRAPHS = 1
REFERENCE_WRONG = "torch.compile does not follow what is asked of an instance"


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * x * 3


class Named(Cube):
    def __init__(self, name):
        super().__init__()
        self.name = name


def fn(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = Named("n")
        y = Cube().apply(x) + named.apply(x)
    kinds = [isinstance(named, torch.autograd.Function), type(named) is Named, named.name]
    return y * len(named.name), kinds, named


def inputs():
    return (torch.arange(3.0, requires_grad=True),)

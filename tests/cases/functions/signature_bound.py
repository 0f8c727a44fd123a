"""A signature from outside binds arguments: its parameters never change."""

import inspect

import torch

GRAPHS = 1


def target(x, scale=2.0, *, shift=1):
    return x


SIGNATURE = inspect.signature(target)


def fn(x):
    bound = SIGNATURE.bind(x, shift=3)
    bound.apply_defaults()
    names = [p.name for p in SIGNATURE.parameters.values()]
    return x * bound.arguments["scale"] + bound.arguments["shift"], names


def inputs():
    return (torch.ones(2),)

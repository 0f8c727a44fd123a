"""Transforms whose function raises before it computes: levels alone are no graph."""

import torch
from torch.func import grad, jvp, vmap

GRAPHS = 0
SNAPSHOT = False
# It compiles the levels.
REFERENCE_GRAPHS = 1


def refuse(x):
    raise ValueError(x.shape)


def fn(x):
    found = []
    for transform in (grad(refuse), vmap(refuse), lambda x: jvp(refuse, (x,), (x,))):
        try:
            transform(x)
        except ValueError as e:
            found.append(tuple(e.args[0]))
    return found


def inputs():
    return (torch.ones(2, 3),)

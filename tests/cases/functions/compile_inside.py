"""Compiling inside a compiled function works as it does outside."""

import ferrodyn
import torch

SNAPSHOT = False
REFERENCE_WRONG = "uses ferrodyn itself"


def fn(x):
    inner = ferrodyn.compile(lambda y: y * 2, backend="eager")
    return inner(x + 1)


def inputs():
    return (torch.ones(2),)

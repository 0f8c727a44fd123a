"""Profiler labels do not break the graph."""

import torch
from torch.profiler import record_function

GRAPHS = 1


@record_function("decorated")
def helper(x):
    return x + 1


def fn(x):
    with record_function("outer"):
        y = x * 2
        with torch.autograd.profiler.record_function("inner", "args") as label:
            y = helper(y)
        name = label.name
    return y, name


def inputs():
    return (torch.ones(2),)

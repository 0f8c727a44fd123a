"""Filters of warnings are set after the graph, in order with the warnings that wait."""

import warnings

import torch

GRAPHS = 2


def quiet(x):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="loud.*", category=UserWarning)
        return x * 2


def fn(x, loud):
    with warnings.catch_warnings(action="ignore"):
        x = x + 1
    x = quiet(x)
    if loud:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("shown", stacklevel=1)
            warnings.simplefilter("ignore")
            warnings.warn("not shown", stacklevel=1)
            x = x.relu()
    context = warnings.catch_warnings()
    with context:
        warnings.simplefilter("ignore")
        x = x - 1
    return x, context._entered


def calls():
    return [(torch.ones(3), loud) for loud in (False, True, True)]

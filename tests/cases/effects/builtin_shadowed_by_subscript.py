"""A global set through `globals()` hides the builtin of its name, in other functions too."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


def length(items):
    return len(items)


def fn(x):
    globals()["len"] = lambda items: 77
    try:
        return x + length([1]), len([1])
    finally:
        del globals()["len"]


def inputs():
    return (torch.ones(2),)

"""`sys.exc_info()` and `sys.exception()`, also those of a handler around the call."""

import sys

import torch

GRAPHS = 1


def fn(x):
    found = [sys.exc_info()]
    try:
        raise ValueError("a")
    except ValueError:
        found.append(sys.exc_info()[0])
        found.append(str(sys.exc_info()[1]))
        found.append(type(sys.exception()))
    found.append(sys.exception())
    return x + 1, found


def inputs():
    return (torch.ones(2),)

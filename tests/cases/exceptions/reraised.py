"""A bare raise, and an exception that is stored and raised later."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


def fn(x, n):
    saved = None
    try:
        if n == 1:
            raise ValueError("one")
    except ValueError as e:
        saved = e
    if saved is not None:
        raise saved
    try:
        if n == 2:
            raise KeyError("two")
    except KeyError:
        x = x + 1
        raise
    return x


def calls():
    return [(torch.ones(2), i) for i in (0, 1, 2)]

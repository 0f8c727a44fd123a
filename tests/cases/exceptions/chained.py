"""raise ... from, and an exception raised while handling one."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0


def fn(x, how):
    y = x + 1
    try:
        raise KeyError("first")
    except KeyError as e:
        if how == 0:
            raise ValueError("second") from e
        if how == 1:
            raise RuntimeError("third") from None
    return y


def calls():
    return [(torch.ones(2), i) for i in range(3)]

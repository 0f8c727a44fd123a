"""del of a local, and what follows when it is read."""

import torch

GRAPHS = 1


def fn(x):
    y = x + 1
    z = y * 2
    del y
    try:
        return y
    except UnboundLocalError as e:
        return z, type(e).__name__


def inputs():
    return (torch.ones(2),)

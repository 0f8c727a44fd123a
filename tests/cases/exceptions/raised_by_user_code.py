"""An exception of the user's own leaves the function: type, text and line."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


class MyError(Exception):
    pass


def fn(x, n):
    y = x + 1
    if n > 1:
        raise MyError(f"n is {n}", n)
    return y


def calls():
    return [(torch.ones(2), 1), (torch.ones(2), 2), (torch.ones(2), 1)]

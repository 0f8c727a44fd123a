"""`except A, B:` needs no parentheses."""

import torch

GRAPHS = 1


def fn(x):
    seen = []
    for key in (0, "a", 3):
        try:
            seen.append([10, 20][key])
        except IndexError, TypeError:
            seen.append(-1)
    y = x * sum(seen)
    try:
        {}["missing"]
    except ValueError, KeyError:
        y = y + 1
    return y, seen


def inputs():
    return (torch.arange(3.0),)

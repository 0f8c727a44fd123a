"""A decision about a changing int is guarded, not its value."""

import torch

GRAPHS = 3


def fn(x, n):
    if n % 2 == 0 and n > 4:
        return x * n
    return x - n if n else x


def calls():
    x = torch.ones(2)
    return [(x, n) for n in [1, 3, 5, 6, 8, 10, 3, -7, 12, 0, 0, 6]]

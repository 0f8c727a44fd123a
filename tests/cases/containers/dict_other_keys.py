"""Keys that are integers, tuples, None, dtypes and types."""

import torch

GRAPHS = 1


def fn(x):
    table = {1: "a", (2, 3): "b", None: "c", torch.float32: 5, int: 6, True: "d"}
    return x * table[x.dtype], table[1], table[(2, 3)], table[None], table[int], len(table)


def inputs():
    return (torch.randn(2),)

"""Random numbers that are drawn below `torch.vmap`: for a batch or for each of it."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False
ALONE = True


def fn(x):
    rows = x.shape[0]
    each = torch.vmap(lambda row: torch.randn(3), randomness="different")(x)
    all_one = torch.vmap(lambda row: torch.rand(rows, 1) + row, randomness="same")(x)
    counted = torch.vmap(lambda c: torch.randint(0, 9, (rows,)), 1, 1, "different")(x)
    graded = torch.func.grad(lambda a: (torch.rand(rows, 2) * a).sum())(x)
    return each, each.stride(), all_one, counted, counted.stride(), graded


def inputs():
    return calls()[0]


def calls():
    return [(torch.arange(2.0 * n).reshape(n, 2) - 4,) for n in (3, 4, 5, 8)]

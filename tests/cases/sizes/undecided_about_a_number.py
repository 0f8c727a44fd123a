"""A branch on a number that the graph reads breaks the graph at the branch."""

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 2


def fn(t, y):
    n = t.item()
    if guard_or_false(n == 0):
        return y
    if not guard_or_true(n != 7):
        return y - 1
    big = n > 5
    y = y * n
    if big:
        return y + 1, big
    return y.sum(), big


def calls():
    return [(torch.tensor(4), torch.randn(8)), (torch.tensor(3), torch.randn(8))]

"""Parts of a tensor: a compiler takes columns that are apart for shared, and corners not."""

import torch

GRAPHS = 3
SNAPSHOT = False
REFERENCE_WRONG = "torch writes where the parts of the first call were, or raises"


def fn(x, y):
    x.add_(1)
    return y * 2, x[0]


def part(x, at):
    return x[:, at : at + 1]


def block(x, at):
    return x[at : at + 2, at : at + 2]


def calls():
    torch.manual_seed(0)
    columns = torch.randn(2, 5, 3)
    corners = [torch.randn(n, n) for n in (5, 6)]
    return [
        *((part(columns, a), part(columns, b)) for a, b in ((0, 3), (3, 0), (1, 2))),
        *((block(x, 0), block(x, 1)) for x in corners),
        (block(corners[0], 2), block(corners[0], 3)),
    ]

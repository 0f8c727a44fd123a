"""Several ints that change at once change together: one compilation finds all of them."""

import torch

GRAPHS = 2


def fn(x, a, b, pair):
    if a < b:
        x = x * a
    return x + b - pair[0] * pair[1]


def calls():
    x = torch.ones(2)
    return [(x, n, n + 5, (n * 2, n - 1)) for n in range(2, 14)]

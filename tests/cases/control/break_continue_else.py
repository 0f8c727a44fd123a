"""break, continue, and else of loops."""

import torch

GRAPHS = 1


def fn(x, items):
    for item in items:
        if item == 1:
            continue
        if item == 4:
            break
        x = x + item
    else:
        x = x * 100
    for item in items:
        x = x + 1
    else:
        x = x * 3
    n = 0
    while n < 3:
        n += 1
    else:
        x = x - n
    return x


def inputs():
    return torch.ones(2), [1, 2, 3, 4, 5]

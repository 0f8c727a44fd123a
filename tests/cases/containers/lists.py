"""Lists made and changed in the function."""

import torch

GRAPHS = 1


def fn(x):
    items = [x, x + 1]
    items.append(x + 2)
    items.extend([x + 3, x + 4])
    items.insert(0, x - 1)
    last = items.pop()
    first = items.pop(0)
    items.reverse()
    items[0] = items[0] * 2
    del items[1]
    return items, last, first, len(items)


def inputs():
    return (torch.randn(3),)

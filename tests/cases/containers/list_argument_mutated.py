"""A list of the caller's is changed: the caller sees it, and identity stays."""

import torch

GRAPHS = 1


def fn(items, x):
    items.append(x + 1)
    items[0] = x
    items.extend((1, 2))
    return items


def calls():
    return [([1, 2], torch.randn(3)), ([3, 4], torch.randn(3))]

"""A store that changes nothing, and one that is undone."""

import torch

GRAPHS = 1


class S:
    v = 1


def fn(s, items, x):
    s.v = s.v
    items.append(5)
    items.pop()
    return x + s.v


def calls():
    return [(S(), [1], torch.ones(2)), (S(), [1], torch.ones(2))]

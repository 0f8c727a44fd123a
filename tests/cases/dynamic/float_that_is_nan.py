"""What is no number is found in a list by its identity."""

import torch

GRAPHS = 2


class Held:
    pass


def fn(x, s):
    held = Held()
    held.value = s
    y = s * 2
    return x * y, s in [s], y in [y], y in [s * 2], held.value in [s], y == y


def calls():
    return [(torch.ones(2), s) for s in [1.0, float("nan"), float("nan")]]

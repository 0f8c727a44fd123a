"""Returns at several places, chosen by a plain value."""

import torch

GRAPHS = 4


def fn(x, mode):
    if mode == "a":
        return x + 1
    for i in range(3):
        if mode == "b" and i == 1:
            return x + i * 10
        x = x + i
    return None if mode == "c" else x


def calls():
    return [(torch.ones(2), m) for m in "abdacb"]

"""Errors of plain Python: index, key, attribute, zero division, type, name."""

import torch

GRAPHS = 8
REFERENCE_GRAPHS = 0


def fn(x, what):
    y = x + 1
    if what == 0:
        return [1, 2][5]
    if what == 1:
        return {"a": 1}["b"]
    if what == 2:
        return (3).missing
    if what == 3:
        return 1 // 0
    if what == 4:
        return "a" + 1
    if what == 5:
        return undefined_name
    if what == 6:
        return int("x")
    a, b = [1, 2, 3]
    return y


def calls():
    return [(torch.ones(2), i) for i in range(8)]

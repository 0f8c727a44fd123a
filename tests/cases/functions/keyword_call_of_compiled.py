"""The compiled function itself called with keywords, defaults and stars."""

import torch

GRAPHS = 1


def fn(a, b=2, *rest, k=3, **more):
    return a * b + k, rest, more


def calls():
    x = torch.ones(2)
    return [(x,), (x, 2), (x, {"b=": 2}), (x, {"k=": 3, "b=": 2})]

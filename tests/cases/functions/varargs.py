"""`*args` and `**kwargs` collected and passed on."""

import torch

GRAPHS = 1


def inner(*args, **kwargs):
    total = args[0]
    for a in args[1:]:
        total = total + a
    for k, v in kwargs.items():
        total = total + v * len(k)
    return total, args, kwargs


def fn(x, *args, **kwargs):
    return inner(x, *args, 1, **kwargs, extra=2)


def calls():
    return [(torch.ones(2), 3, {"ab=": 4}), (torch.ones(2), 3, {"ab=": 4})]

"""`eval` and `exec`."""

import torch


def fn(x, text="x * 2"):
    return eval(text) + 1


def double(x):
    return x * 2


def instead(x, make=double):
    return make(x) + 1


def inputs():
    return (torch.linspace(-1, 2, 4),)

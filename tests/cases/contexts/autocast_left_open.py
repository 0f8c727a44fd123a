"""Autocast entered in one compiled function and left in another."""

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0

contexts = []


def enter(x):
    c = torch.autocast("cpu", dtype=torch.bfloat16)
    c.__enter__()
    contexts.append(c)
    return x @ x


def leave(x):
    y = x @ x
    contexts.pop().__exit__(None, None, None)
    return y, x @ x


def fn(x, which):
    return enter(x) if which else leave(x)


def calls():
    x = torch.randn(2, 2)
    return [(x, True), (x, False), (x, True), (x, False)]

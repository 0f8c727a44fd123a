"""Globals rebound by the function and by a helper."""

import torch

GRAPHS = 1
BYTECODE = True

count = 0
last = None


def note(x):
    global last
    last = x


def fn(x):
    global count
    count += 1
    y = x + 1
    note(y)
    return y * 2


def calls():
    return [(torch.ones(2),)]

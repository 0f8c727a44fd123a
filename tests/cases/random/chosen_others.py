"""What `random` chooses from other things, or moves, is known to plain Python only."""

import random

import torch

GRAPHS = 6

MODES = ["up", "down"]


def fn(x):
    mode = random.choice(MODES)
    x = x * 2 if mode == "up" else x - 1
    order = [0, 1, 2]
    random.shuffle(order)
    mixed = random.choice([1, 2.5, True])
    return x[order] * random.gauss(0, 1), mode, random.choice([order]) is order, mixed


def inputs():
    return (torch.arange(3.0),)

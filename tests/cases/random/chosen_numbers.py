"""Numbers that `random` chooses from some, and those of other distributions."""

import random

import torch

GRAPHS = 1
SCALES = [0.5, 1.0, 2.0]


def fn(x):
    scale = random.choice(SCALES)
    count = random.choice((1, 5, 3))
    noise = random.normalvariate(0, 2) + random.expovariate(0.5) + random.normalvariate()
    return x * scale * count + noise, count


def inputs():
    return (torch.ones(2),)

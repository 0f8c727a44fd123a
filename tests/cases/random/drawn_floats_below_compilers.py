"""Floats that are drawn are inputs of graphs below compilers, too: no break, a draw a call."""

import random

import torch

GRAPHS = 1
SNAPSHOT = False

generator = random.Random(3)


def before(i):
    random.seed(i)


def fn(x):
    scale = random.random()
    noise = generator.uniform(-1, 1)
    jitter = random.gauss(0.0, 1.0) if x is None else random.expovariate(2.0)
    return x * scale + noise * jitter, scale


def inputs():
    return (torch.ones(3, requires_grad=True),)

"""The random module of the standard library."""

import random

import torch

GRAPHS = 1


def fn(x):
    return x * random.randint(1, 100), random.random()


def calls():
    return [(torch.ones(2),)]

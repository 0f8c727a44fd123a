"""Python's generators are seeded in the program's order."""

import random

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0
SNAPSHOT = False


def fn(x, generator):
    y = x * random.random()
    random.seed(5)
    y = y + random.random() * random.uniform(1, 2)
    random.seed("text")
    generator.seed(3)
    return y * generator.random() + random.randint(1, 5), random.random()


def calls():
    return [(torch.ones(3), random.Random(n)) for n in (1, 2, 3)]

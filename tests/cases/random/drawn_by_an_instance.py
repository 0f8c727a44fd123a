"""Generators of the program draw each from its own state; one may have methods of its own."""

import random

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 0


class Loaded(random.Random):
    def getrandbits(self, k):
        return 0


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = random.Random(7)
        self.last = None

    def forward(self, x, other):
        self.last = self.generator.uniform(1, 2)
        return x * self.last + self.generator.randint(0, 5) * other.randint(1, 8) + random.random()


def make():
    return Layer()


def calls():
    patched = random.Random(3)
    patched._randbelow = lambda n: n - 1
    others = [random.Random(1), random.Random(1), Loaded(1), patched]
    return [(torch.ones(2), other) for other in others]

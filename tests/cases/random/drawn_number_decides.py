"""A decision about a random number is made by plain Python; what was drawn stays drawn."""

import random

import torch

GRAPHS = 3


def fn(x, threshold):
    scale = random.random()
    x = x * scale
    if random.random() < threshold:
        return x - 1, scale
    return x + 1, random.randint(0, 9)


def calls():
    return [(torch.ones(2), 0.0), (torch.ones(2), 1.0), (torch.ones(2), 1.0)]

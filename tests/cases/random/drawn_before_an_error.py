"""An operation raises behind random numbers: the handler finds them drawn once."""

import random

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1


def fn(x, index):
    scale = random.random()
    bonus = random.randint(1, 9)
    try:
        return x[index] * scale + bonus
    except IndexError:
        return scale, bonus, random.random()


def calls():
    return [(torch.ones(3), torch.tensor(i)) for i in (1, 7, 0, 9)]

"""`re.DEBUG` prints on each call: such a pattern is not kept."""

import re

import torch

GRAPHS = 1


def fn(x):
    return x + 1, re.compile("a|b", re.DEBUG | re.ASCII).pattern


def calls():
    return [(torch.ones(2),) for _ in range(2)]

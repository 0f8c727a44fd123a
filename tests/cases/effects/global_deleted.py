"""A global made and deleted by the function."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0

temp = 1


def fn(x):
    global temp, fresh
    fresh = temp + 1
    del temp
    return x + fresh


def calls():
    return [(torch.ones(2),)]

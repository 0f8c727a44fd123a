"""A class attribute that changes between calls."""

import torch

GRAPHS = 2


class K:
    factor = 2


def before(index):
    K.factor = 3 if index == 2 else 2


def fn(x):
    return x * K.factor


def calls():
    return [(torch.ones(2),)] * 4

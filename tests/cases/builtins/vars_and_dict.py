"""__dict__, vars and dir of an instance."""

import torch

GRAPHS = 1


class P:
    def __init__(self):
        self.a = 1
        self.b = 2


def fn(x, p):
    return x * sum(p.__dict__.values()), list(vars(p)), p.__class__.__name__, p.__module__


def inputs():
    return torch.ones(2), P()

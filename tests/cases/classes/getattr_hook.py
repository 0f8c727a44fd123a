"""`__getattr__` and `__setattr__` of a user's class."""

import torch

GRAPHS = 1


class G:
    def __init__(self):
        object.__setattr__(self, "data", {"w": 2})

    def __getattr__(self, name):
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.data[name] = value


def fn(x, g):
    g.z = 5
    return x * g.w + g.z, getattr(g, "nope", 0), hasattr(g, "w")


def calls():
    return [(torch.ones(2), G())]

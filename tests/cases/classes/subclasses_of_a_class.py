"""The classes derived from a class are asked for, and another one is made between two calls."""

import torch

GRAPHS = 2


class Base:
    pass


class First(Base):
    pass


MADE = []


def before(i):
    if i == 2 and not MADE:
        MADE.append(type("Second", (Base,), {}))


def fn(x):
    found = Base.__subclasses__()
    return x + len(found), found


def calls():
    return [(torch.ones(2),)] * 4

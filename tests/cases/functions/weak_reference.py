"""Calls of weak references: a live one, a dead one, and one to an argument."""

import weakref

import torch


class Owner:
    def __init__(self, scale):
        self.scale = scale


owner = Owner(3)
alive = weakref.ref(owner)
dead = weakref.ref(Owner(4))


def fn(x, boxed):
    same = boxed[0]() is boxed[1]
    return x * alive().scale, dead() is None, alive() is owner, same


def inputs():
    return (torch.ones(2), [weakref.ref(owner), owner])


GRAPHS = 1
SNAPSHOT = False

"""An object with a finalizer is really made: it runs when the object goes, used or not."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 1

log = []


class Noted:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append(self.name)


def in_helper(x):
    noted = Noted("helper")
    return x * 2


def fn(x):
    log.clear()
    first = Noted("first")
    x = x + 1
    del first
    x = in_helper(x)
    last = Noted("last")
    return x + len(log), list(log)


def inputs():
    return (torch.ones(2),)

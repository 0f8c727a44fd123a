"""Behind a graph break as many references to an object are counted as in eager mode."""

import sys

import torch

GRAPHS = 2
SNAPSHOT = False


class Thing:
    k = 2


def fn(x):
    thing, things = Thing(), [Thing()]
    x = x + 1
    counts = [sys.getrefcount(thing), sys.getrefcount(things), sys.getrefcount(things[0])]
    counts.append(sys.getrefcount(thing))
    return x * thing.k, counts, len(things)


def inputs():
    return (torch.ones(2),)

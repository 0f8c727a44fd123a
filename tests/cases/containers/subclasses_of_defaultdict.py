"""Subclasses of the dicts in `collections`: their factory, and of which class their copies are."""

from collections import OrderedDict, defaultdict

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


class Counted(defaultdict):
    pass


class Lists(defaultdict):
    def __init__(self, *args):
        super().__init__(list, *args)
        self.note = "kept"


class Ordered(OrderedDict):
    pass


def fn(x):
    counted, lists = Counted(int, a=1), Lists()
    counted["b"] += 2
    lists["c"].append(x + 1)
    ordered = Ordered(a=1)
    made = [ordered | {}, {} | ordered, ordered.copy(), counted | {}, counted.copy()]
    factories = [getattr(m, "default_factory", None) for m in made]
    return counted, lists, lists.note, [type(m) for m in made], factories


def inputs():
    return (torch.ones(2),)

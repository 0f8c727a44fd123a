"""`dict.__delitem__` and the like leave the order that an `OrderedDict` keeps as it was."""

import collections

import torch


def fn(x):
    items = collections.OrderedDict(a=1, b=2)
    dict.__setitem__(items, "c", 3)
    y = x + len(items)
    return y, list(items), sorted(dict.keys(items))


def inputs():
    return (torch.ones(3),)

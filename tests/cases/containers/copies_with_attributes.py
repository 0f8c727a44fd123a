"""Copies of an `OrderedDict` have its attributes; what its own `copy` gives has none."""

import copy
from collections import OrderedDict

import torch

GRAPHS = 1


def fn(x):
    d = OrderedDict(a=x + 1)
    d.names = ["x"]
    shallow, deep, own = copy.copy(d), copy.deepcopy({"d": d})["d"], d.copy()
    same = shallow.names is d.names, deep.names is d.names, deep.names, shallow["a"] is d["a"]
    return x * 2, same, hasattr(own, "names"), list(deep), type(deep)


def inputs():
    return (torch.ones(2),)

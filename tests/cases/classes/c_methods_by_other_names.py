"""A class gives C methods of its base the names of special methods."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


class Options(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class Lenient(dict):
    __getitem__ = dict.get
    __call__ = dict.get
    __matmul__ = dict.update


class Stack(list):
    __lshift__ = list.append
    __invert__ = list.pop


def fn(x, options, lenient, stack):
    options.size = options.start + 1
    options.mask = x
    del options.start
    made = Options(a=1)
    made.b = 2
    try:
        missing = lenient["missing"]
    except KeyError:
        missing = "raised"
    lenient @ {"more": x}
    stack << 4
    taken = ~stack
    y = x + options["size"] + taken
    return y, options.start, len(vars(options)), made, missing, lenient("nothing", 5)


def inputs():
    return torch.ones(2), Options(start=1), Lenient(a=1), Stack([1])

"""A `__class__` attribute counts for `isinstance`, with abstract classes too."""

import collections.abc

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


class Proxy:
    def __init__(self, of):
        self.of = of

    @property
    def __class__(self):
        return type(self.of)


def fn(x):
    classes = [
        list,
        dict,
        Proxy,
        collections.abc.MutableSequence,
        collections.abc.Mapping,
        collections.abc.Hashable,
        (int, collections.abc.Sized),
    ]
    found = [isinstance(Proxy(v), c) for v in ([1], {}, x) for c in classes]
    return x + 1, found, isinstance(Proxy(x), torch.Tensor)


def inputs():
    return (torch.ones(2),)

"""operator and math on plain values and tensors."""

import functools
import math
import operator

import torch

GRAPHS = 1


def fn(x, items):
    return (
        operator.add(x, 1),
        operator.getitem(items, 0),
        operator.attrgetter("shape")(x),
        operator.itemgetter(0, 1)(items),
        functools.reduce(operator.mul, items, 1),
        x * math.sqrt(16) + math.pi,
        math.floor(2.7),
        math.prod(items),
        math.ceil(x.shape[0] / 2),
        math.inf > 3,
        operator.neg(x),
        math.log2(8),
    )


def inputs():
    return torch.ones(3), [2, 3]

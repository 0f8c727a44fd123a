"""What `operator.methodcaller` holds, tensors and lists among it, is the caller's own."""

import operator

import torch

GRAPHS = 3
REFERENCE_GRAPHS = 1


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, t):
        return t * self.by

    def of(self, t, extra=()):
        return t * self.by + len(extra)


def fn(x, o, items):
    y = operator.methodcaller("of", x + 1, extra=items)(o)
    operator.methodcaller("append", o)(items)
    found = list(map(operator.methodcaller("extend", items), [[1], [2, 3]]))
    return y, found, items, operator.methodcaller("of", x, items)(o)


def inputs():
    return torch.ones(2), Scale(2), [4]

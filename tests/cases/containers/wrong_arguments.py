"""Methods and builtins that get arguments which they do not take."""

import itertools

import torch

GRAPHS = 0


class Text:
    def __format__(self, spec):
        return 1.0


def fn(x):
    calls = (
        lambda: {}.copy(None),
        lambda: [].append(),
        lambda: {1}.pop(1),
        lambda: iter(42, 42),
        lambda: sorted(iterable=[1]),
        lambda: itertools.count("a"),
        lambda: format(Text()),
    )
    errors = []
    for call in calls:
        try:
            errors.append(call())
        except TypeError as error:
            errors.append(str(error))
    return x + 1, errors


def inputs():
    return (torch.ones(2),)

"""`__int__` and the like that give something else than they should; what Python warns of."""

import warnings

import torch

BREAKS = [
    "Filters of warnings that cannot be set later",
    "Unsupported: __int__() that gives a bool",
]


class Gives:
    def __init__(self, value):
        self.value = value

    def __int__(self):
        return self.value

    __index__ = __float__ = __int__


def outcome(f):
    try:
        value = f()
    except TypeError as e:
        return str(e)
    return type(value), value


def fn(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flag = x.shape[0] == 3
        values = [
            outcome(f)
            for f in (
                lambda: int(Gives(True)),
                lambda: int(Gives("3")),
                lambda: int(Gives(3)),
                lambda: float(Gives(3)),
                lambda: float(Gives(3.5)),
                lambda: ~flag,
            )
        ]
    return x + 1, values, len(caught)


def inputs():
    return (torch.ones(2),)

"""A special method that is `None` refuses the operation: no other method is asked."""

import torch

GRAPHS = 1


class Refuses:
    __bool__ = __len__ = __contains__ = __iter__ = __eq__ = __add__ = __neg__ = __index__ = None
    __getitem__ = __lt__ = None


OPERATIONS = [
    bool,
    len,
    list,
    lambda r: not r,
    lambda r: 1 in r,
    lambda r: r == r,
    lambda r: r + 1,
    lambda r: -r,
    lambda r: [1, 2][r],
    lambda r: r[0],
    lambda r: r < 1,
    hash,
]


def outcome(operation, r):
    try:
        return operation(r)
    except TypeError as e:
        return str(e)


def fn(x):
    return x + 1, [outcome(operation, Refuses()) for operation in OPERATIONS]


def inputs():
    return (torch.ones(2),)

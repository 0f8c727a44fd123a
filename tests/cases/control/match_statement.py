"""match over values, sequences, mappings and classes."""

import torch

GRAPHS = 1


def pick(v):
    match v:
        case 0 | 1:
            return "small"
        case int(n) if n > 100:
            return "big"
        case [a, b]:
            return ("pair", a, b)
        case [a, *rest]:
            return ("list", a, rest)
        case {"k": k, **other}:
            return ("map", k, other)
        case str():
            return "text"
        case None:
            return "none"
        case _:
            return "other"


def fn(x, values):
    return x + 1, [pick(v) for v in values]


def inputs():
    return torch.ones(2), [1, 500, [1, 2], [1, 2, 3], {"k": 1, "l": 2}, "s", None, 50]

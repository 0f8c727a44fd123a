"""`map` with `strict`: an error where one iterable ends before the others."""

import torch

GRAPHS = 2
SNAPSHOT = False


def said(*iterables, strict=True):
    try:
        return list(map(lambda *items: items, *iterables, strict=strict))
    except ValueError as error:
        return str(error)


def fn(x):
    answers = [
        said([1, 2], [3, 4]),
        said([1], [2, 3]),
        said([1, 2], [3]),
        said([1], [2], [3, 4]),
        said([1, 2], [3], strict=False),
    ]
    left = map(lambda a, b: a * b, [x, x + 1], (2, 3), strict=True)
    first = next(left)
    torch._dynamo.graph_break()
    return first, list(left), answers


def inputs():
    return (torch.ones(2),)

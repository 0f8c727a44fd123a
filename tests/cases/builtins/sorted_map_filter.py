"""sorted, map, filter, any, all, reversed, iter, next."""

import torch

GRAPHS = 1


def fn(x, items):
    it = iter(items)
    first = next(it)
    rest = list(it)
    end = next(it, "end")
    return (
        sum(map(lambda i: x * i, items)),
        list(map(lambda a, b: a + b, items, items)),
        list(filter(lambda i: i > 1, items)),
        list(filter(None, [0, 1, "", "a"])),
        sorted(items, reverse=True),
        sorted(["bb", "a"], key=len),
        any(items),
        all([]),
        list(reversed(items)),
        first,
        rest,
        end,
    )


def inputs():
    return torch.ones(2), [2, 1, 3]

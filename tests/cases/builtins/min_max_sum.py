"""min, max, sum, abs, round, pow, divmod on plain values and tensors."""

import torch

GRAPHS = 1


def fn(x, items):
    return (
        x * max(items) + min(items),
        max(1, 2, 3),
        min([3, 1], key=lambda v: -v),
        max([], default=4),
        sum(items),
        sum([x, x + 1], x),
        abs(-3),
        abs(x),
        round(2.567, 1),
        round(2.5),
        pow(2, 5, 7),
        pow(x, 2),
        divmod(7, 3),
    )


def inputs():
    return torch.randn(2), [3, 1, 2]

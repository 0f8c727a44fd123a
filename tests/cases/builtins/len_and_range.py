"""len and range in all their forms."""

import torch

GRAPHS = 1


def fn(x, items):
    r = range(1, 10, 2)
    return (
        x + len(x) + len(items) + len(r),
        list(r),
        r[1],
        r[-1],
        list(r[1:3]),
        3 in r,
        4 in r,
        r.start,
        list(reversed(r)),
        len("abc"),
        r == range(1, 11, 2),
        len(range(5, 0)),
    )


def inputs():
    return torch.ones(3), [1, 2]

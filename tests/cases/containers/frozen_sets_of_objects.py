"""An object in a frozen set from outside is the one that an argument is: writes to it show."""

import torch

GRAPHS = 1
SNAPSHOT = False
REFERENCE_WRONG = "makes another frozen set of one"


class Counter:
    def __init__(self):
        self.count = 0


COUNTER = Counter()
COUNTERS = frozenset([COUNTER])


def fn(x, counter, counters):
    counter.count += 1
    (same,) = counters
    same.count += 2
    return (
        x + counter.count,
        same.count,
        same is counter,
        counter in counters,
        frozenset(counters) is counters,
        len(counters | {1}),
    )


def before(_):
    COUNTER.count = 0


def inputs():
    return torch.randn(3), COUNTER, COUNTERS

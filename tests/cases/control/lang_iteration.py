"""Iteration protocols: user iterators, sequences, sentinels, generators, changes on the way."""

import torch

GRAPHS = 1


class Squares:
    def __init__(self, n):
        self.n = n
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i == self.n:
            raise StopIteration
        self.i += 1
        return self.i**2


class Old:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError(i)
        return i + 10

    def __len__(self):
        return 3


def running(values):
    total = 0
    for v in values:
        total = total + v
        yield total


def fn(x):
    squares = Squares(3)
    grown = [1]
    for v in grown:
        if v < 4:
            grown.append(v + 1)
    steps = iter(grown)
    until = list(iter(steps.__next__, 3))
    first, *rest = running([x, x * 2, x * 3])
    row, col = x.reshape(2, 2)
    try:
        a, b = [1]
    except ValueError as e:
        message = str(e)
    changed = None
    d = {"a": 1}
    try:
        for k in d:
            d[k + k] = 2
    except RuntimeError as e:
        changed = str(e)
    return (
        sum(squares) * x,
        squares.i,
        [v * x for v in Old()],
        list(reversed(Old())),
        13 in Old(),
        grown,
        until,
        list(steps),
        first,
        rest,
        row + col,
        message,
        changed,
        dict(zip("ab", x.unbind())),
        [i for i, v in enumerate(x) if i % 2],
    )


def inputs():
    return (torch.arange(4.0),)

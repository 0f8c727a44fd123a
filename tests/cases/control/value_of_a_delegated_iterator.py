"""`yield from` gives the value of the `StopIteration` that an iterator of the user's raises."""

import torch


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration("over")
        self.n -= 1
        return self.n


class Silent(Countdown):
    def __next__(self):
        raise StopIteration


def fn(x):
    def both():
        first = yield from Countdown(2)
        yield first
        second = yield from Silent(1)
        yield second
        return (yield from Countdown(0))

    def outer():
        result = yield from both()
        yield result

    return x + 1, list(outer())


def inputs():
    return (torch.ones(2),)


GRAPHS = 1

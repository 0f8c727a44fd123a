"""The keywords of a call come out of a mapping whose methods break the graph."""

import torch

BREAKS = ["graph_break"]
SNAPSHOT = False


class Options:
    def __init__(self, **values):
        self.values = values

    def keys(self):
        torch._dynamo.graph_break()
        return self.values.keys()

    def __getitem__(self, name):
        return self.values[name]


def scaled(x, *more, **options):
    return x * options["scale"] + len(more), options


def fn(x, given):
    y, first = scaled(x + 1, **given)
    z, second = scaled(y + 1, *[1, 2], last=3, **given)
    return z * 2, first, second


def inputs():
    return torch.ones(2), Options(scale=2, unused="a")

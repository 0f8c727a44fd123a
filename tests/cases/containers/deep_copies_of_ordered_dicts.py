"""Deep copies of dictionaries that keep an order or have a default."""

import collections
import copy

import torch

GRAPHS = 1
SNAPSHOT = False


class Config:
    def __init__(self):
        self.order = collections.OrderedDict(b=[1], a=[2])
        self.order.move_to_end("b")
        self.counts = collections.defaultdict(list, n=[3])


config = Config()


def fn(x):
    copied = copy.deepcopy(config)
    copied.order["a"].append(5)
    copied.counts["new"].append(6)
    return (
        x * copied.order["a"][-1],
        list(copied.order),
        copied.counts,
        config.counts,
        type(copied.order),
    )


def inputs():
    return (torch.ones(2),)

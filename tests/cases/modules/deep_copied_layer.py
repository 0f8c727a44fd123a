"""Layers are copied deep in each call: the parameters and buffers of the copy are its own."""

import collections
import copy

import torch

GRAPHS = 1
# Guards list the keys of copyreg's table, to which the process adds what it imports.
SNAPSHOT = False


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        first = torch.nn.Linear(3, 3)
        norm = torch.nn.BatchNorm1d(3)
        self.layers = torch.nn.Sequential(
            collections.OrderedDict(first=first, norm=norm, again=first)
        )
        self.layers.register_buffer("scale", torch.full((3,), 2.0))

    def forward(self, x):
        copied = copy.deepcopy(self.layers)
        same = copied.first is copied.again
        with torch.no_grad():
            copied.first.weight.add_(1)
            copied.scale.mul_(3)
        return copied(x) * copied.scale, same, copied.norm.num_batches_tracked, self.layers(x)


def make():
    return Net()


def calls():
    return [(torch.ones(2, 3) * n,) for n in (1, 2, 3)]

"""Layers with backward hooks are called between two graphs."""

import torch
from torch import nn

GRAPHS = 3
log = []


def slowed(module, given, gained):
    log.append(("old", len(given), gained[0].shape))
    return tuple(g * 0.1 if g is not None else g for g in given)


def seen(module, given, gained):
    log.append(("full", given[0].shape, gained[0].shape))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.shift = nn.Conv1d(1, 1, 1)
        self.shift.register_backward_hook(slowed)
        self.last = nn.Linear(3, 2)
        self.last.register_full_backward_hook(seen)

    def forward(self, x):
        y = self.first(x).unsqueeze(1)
        y = self.shift(y).squeeze(1) + 1
        return self.last(y) * 2


torch.manual_seed(0)
model = Model()


def fn(x):
    return model(x)


def calls():
    return [(torch.rand(4, 3, requires_grad=True),), (torch.rand(4, 3, requires_grad=True),)]

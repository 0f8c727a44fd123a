"""A module whose parameters get their sizes in its first call, which is not captured."""

import torch
from torch import nn

GRAPHS = 1


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.LazyLinear(3)
        self.rest = nn.Sequential(nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2, bias=False))

    def forward(self, x):
        return self.rest(self.first(x + 1)) * 2


torch.manual_seed(0)
model = Model()


def fn(x):
    return model(x)


def calls():
    return [(torch.rand(4, 5),), (torch.rand(4, 5),)]

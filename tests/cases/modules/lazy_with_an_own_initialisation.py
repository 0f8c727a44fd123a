"""Lazy modules that make parameters of their own, or change their class, in their first call."""

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin

SNAPSHOT = False
GRAPHS = 1


class Scaled(LazyModuleMixin, nn.Module):
    """Its parameters are there only from its first call on."""

    def initialize_parameters(self, parts, shift):
        torch._dynamo.graph_break()
        with torch.no_grad():
            self.weight = nn.Parameter(torch.full_like(parts[0], 0.5))
            self.inner = nn.LazyLinear(2)

    def forward(self, parts, shift):
        return self.inner(sum(parts) * self.weight) + shift


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled()
        self.norm = nn.LazyBatchNorm1d(affine=False, track_running_stats=False)

    def forward(self, parts):
        return self.norm(self.scaled(parts, shift=1) * 2)


torch.manual_seed(0)
model = Model()


def fn(x):
    return model([x, x + 1]), type(model.norm).__name__, type(model.scaled.inner).__name__


def calls():
    return [(torch.rand(4, 5),), (torch.rand(4, 5),)]

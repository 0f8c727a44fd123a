"""Modules that `torch.fx` made are captured; a function asks whether it is being traced."""

import torch

GRAPHS = 1
# The name of a module's code counts what torch.fx has made before.
SNAPSHOT = False


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, *, scale=2.0):
        return self.linear(x).relu() * scale


traced = torch.fx.symbolic_trace(Two())
function = torch.fx.symbolic_trace(lambda a, b: a + b * 2)


def fn(x):
    if torch.fx._symbolic_trace.is_fx_tracing():
        return x
    return traced(x) + function(x, x), traced(x, scale=0.5)


def inputs():
    return (torch.ones(2, 3),)

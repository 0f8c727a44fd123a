"""Loops over ModuleList and ModuleDict."""

import torch

GRAPHS = 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])
        self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 1), "b": torch.nn.Linear(3, 2)})

    def forward(self, x, head="a"):
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) + i
        return self.heads[head](x), [h(x) for h in self.heads.values()], self.layers[-1](x)


def make():
    return Net()


def inputs():
    return (torch.randn(2, 3),)

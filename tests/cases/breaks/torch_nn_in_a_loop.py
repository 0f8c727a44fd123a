"""What plain Python calls of `torch.nn` makes no graphs of its own; modules of the user's do."""

import torch
from torch import nn

# One for each `Block.forward`.
GRAPHS = 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x).relu()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Sequential(Block(), nn.Tanh()), Block()])

    def forward(self, x):
        for layer in self.layers:
            torch._dynamo.graph_break()
            x = nn.functional.softmax(layer(x), dim=-1)
        return x


torch.manual_seed(0)
fn = Model()


def inputs():
    return (torch.ones(2, 3),)

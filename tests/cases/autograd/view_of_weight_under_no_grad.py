"""A view of a weight that is made under no_grad is a leaf; in the graph it is a tensor like any."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Transposed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        with torch.no_grad():
            turned = self.weight.transpose(0, 1)
            first, rest = self.weight[0], self.weight[1:]
            return x @ turned + first + rest.sum(0)


def make():
    torch.manual_seed(0)
    return Transposed()


def inputs():
    return (torch.randn(2, 3),)

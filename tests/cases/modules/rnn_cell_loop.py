"""A recurrent cell in a loop over time."""

import torch

GRAPHS = 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)

    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        out = []
        for step in x:
            h = self.cell(step, h)
            out.append(h)
        return torch.stack(out)


def make():
    return Net()


def inputs():
    return (torch.randn(3, 2, 3),)

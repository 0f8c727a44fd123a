"""A buffer replaced and one changed in place in forward."""

import torch

GRAPHS = 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        self.total = self.total + x
        self.steps += 1
        return x * self.total


net = None


def make():
    global net
    net = Net()
    return net


def inputs():
    return (torch.randn(3),)

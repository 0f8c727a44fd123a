"""A plain attribute of a module that changes between calls."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2

    def forward(self, x):
        return x * self.scale


net = Net()


def before(index):
    net.scale = 3 if index == 1 else 2


def fn(x):
    return net(x)


def calls():
    return [(torch.ones(2),)] * 3


GRAPHS = 2

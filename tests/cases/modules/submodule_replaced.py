"""A submodule that is replaced between calls."""

import torch

GRAPHS = 2

net = torch.nn.Sequential(torch.nn.ReLU())


def before(index):
    if index == 1:
        net[0] = torch.nn.Tanh()


def fn(x):
    return net(x)


def calls():
    return [(torch.randn(3),)] * 3

"""Dropout and batch norm follow train and eval."""

import torch

GRAPHS = 2

net = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))


def before(index):
    net.train(index % 2 == 0)


def fn(x):
    return net(x), net.training


def calls():
    return [(torch.randn(4, 3),) for _ in range(3)]

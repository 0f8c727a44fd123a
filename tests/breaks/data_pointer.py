"""The address of a tensor's memory."""

import torch


def fn(x):
    y = x.view(2, 2)
    return x * 2 if x.data_ptr() == y.data_ptr() else y


def instead(x):
    return x * 2


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""Tensor.new with a torch.Size, with numbers, with data; an empty torch.Size is a size, too."""

import torch

GRAPHS = 1


def fn(x):
    s = x.size()
    new = [x.new(s).fill_(1), x.new(*s).fill_(2), x.new([1, 2]), x.data.new(s[0]).zero_()]
    return new, x.new().shape, x.new(torch.Size([])).shape, torch.Tensor(torch.Size([])).shape


def inputs():
    return (torch.zeros(4, 1),)


BACKWARD = False

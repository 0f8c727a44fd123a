"""Tensors that get another class inside are aliases, and record gradients, as in plain Python."""

import torch

GRAPHS = 1


class Kept(torch.Tensor):
    def __new__(cls, data):
        return torch.Tensor._make_subclass(cls, data, data.requires_grad)

    def __init__(self, data):
        self.source = data


class Plain(torch.Tensor):
    pass


def fn(x, w):
    kept = Kept(x)
    kept.source.add_(1)
    alias = Plain(w * 2)
    with torch._C.DisableTorchFunctionSubclass():
        below = alias * 3
    total = (alias * kept.detach()).sum()
    back = total.as_subclass(torch.Tensor)
    return kept, kept.source is x, kept + 1, alias, below, total, back, type(below) is torch.Tensor


def inputs():
    return torch.randn(3), torch.randn(3, requires_grad=True)

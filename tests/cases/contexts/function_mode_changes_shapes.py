"""What follows a mode's answer is what the mode has answered: its shape decides, and its type."""

import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 1


class Twice(TorchFunctionMode):
    def __init__(self, times):
        self.times = times

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return torch.cat([result] * self.times) if func is torch.sin else result


class Text(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__


def fn(x):
    with Twice(2):
        y = torch.sin(x)
    if y.shape[0] > x.shape[0]:
        y = y * 2
    with Text():
        text = torch.cos(x), x.shape, x + 1
    return y, text


def inputs():
    return (torch.arange(3.0),)

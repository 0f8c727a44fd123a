"""A mode that calls torch under itself, one that hands on to others, and one that raises."""

import torch
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode

GRAPHS = 1


class Itself(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.sin:
            with self:
                return torch.cos(args[0]) * 2
        if func is torch.cos:
            return args[0].tan()
        return func(*args, **(kwargs or {}))


class Refuses(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.tan:
            raise ValueError("no tangents")
        return func(*args, **(kwargs or {}))


def fn(x):
    with Itself():
        y = torch.sin(x)
    with Itself(), BaseTorchFunctionMode():
        y = y + torch.cos(x)
    try:
        with Refuses(), Itself():
            y = torch.tan(torch.sin(y))
    except ValueError as e:
        return y, e.args
    return y


def inputs():
    return (torch.arange(3.0),)

"""A mode that needs the values of tensors: the call runs as plain Python, with the mode."""

import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 3


class Sums(TorchFunctionMode):
    def __init__(self):
        self.sums = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is torch.sin:
            self.sums.append(result.sum().item())
        return result


def fn(x):
    with Sums() as mode:
        y = torch.sin(x + 1) * 2
    return y, mode.sums


def inputs():
    return (torch.zeros(3),)

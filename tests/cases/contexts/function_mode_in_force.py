"""A mode is in force when the function is called, which leaves it."""

import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 1
SEEN = []


class Scaled(TorchFunctionMode):
    def __init__(self, by):
        self.by = by
        self.seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        result = func(*args, **(kwargs or {}))
        return result * self.by if func is torch.add else result


MODE = Scaled(3)


def before(index):
    MODE.seen = 0
    MODE.__enter__()


def fn(x):
    y = torch.add(x, 1) + x.shape[0]
    z = torch.zeros(3) - y
    seen = MODE.seen
    MODE.__exit__(None, None, None)
    return y, z, torch.add(x, 1), seen


def inputs():
    return (torch.arange(3.0),)

"""Modes and devices see a call from the innermost outwards."""

import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 1


class Keywords(TorchFunctionMode):
    def __init__(self):
        self.devices = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.devices.append((func.__name__, kwargs.get("device")))
        return func(*args, **kwargs)


def fn(x):
    with torch.device("meta"):
        with Keywords() as below:
            a = torch.zeros(2)
        b = torch.ones(2)
    with Keywords() as above:
        with torch.device("meta"):
            c = torch.zeros(2)
        d = torch.zeros(2)
    return x + d[0], a.device, b.device, c.device, below.devices, above.devices


def inputs():
    return (torch.arange(3.0),)

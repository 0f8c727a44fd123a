"""A mode with a `__torch_function__` sees functions of torch, operators, methods and attributes."""

import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 1


class Seen(TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append((func.__name__, types, kwargs is None))
        return func(*args, **(kwargs or {}))


class MulForAdd(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.add, torch.Tensor.add):
            func = torch.mul
        return func(*args, **(kwargs or {}))


def fn(x):
    with Seen() as seen:
        y = torch.add(x, 2)
        y[0] = 7
        y += 1
        with torch.no_grad():
            z = 1 - y
        z = torch.nn.functional.relu(z) + torch.zeros(3, device=x.device)
    with Seen() as outer, MulForAdd():
        w = x + 3
    with MulForAdd(), Seen() as inner:
        w = torch.add(w, z)
        n = len(w), w.shape, [part.dtype for part in w]
    return z, w, n, seen.names, outer.names, inner.names


def inputs():
    return (torch.arange(3.0),)

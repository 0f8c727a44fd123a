"""A graph ends within a mode, which is in force for plain Python and for the graph behind it."""

import ferrodyn
import torch
from torch.overrides import TorchFunctionMode

GRAPHS = 3
BYTECODE = True


class Entered(TorchFunctionMode):
    def __init__(self):
        self.events = []

    def __enter__(self):
        self.events.append("entered")
        return super().__enter__()

    def __exit__(self, kind, *rest):
        self.events.append(kind and kind.__name__)
        return super().__exit__(kind, *rest)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.events.append(func.__name__)
        return func(*args, **(kwargs or {}))


def fn(x):
    mode = Entered()
    try:
        with mode:
            y = x + 1
            ferrodyn.graph_break()
            y = y * 2
            if y.sum() > 0:
                raise ValueError("positive")
    except ValueError:
        y = y - x
    return y, mode.events, torch.cos(y)


def inputs():
    return (torch.arange(3.0),)

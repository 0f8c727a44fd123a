"""A check of all elements runs in the graph where only a library's `finally` is around it."""

from pathlib import Path

import torch

GRAPHS = 1

_LIBRARY = """
def captured(active, fn, *args):
    active.append(fn)
    try:
        return fn(*args)
    finally:
        active.pop()
"""
active = []
_scope = {}
exec(compile(_LIBRARY, str(Path(torch.__file__).with_name("captured.py")), "exec"), _scope)
captured = _scope["captured"]


def checked(x):
    torch._check_tensor_all(x > 0)
    return x + 1


def fn(x):
    try:
        y = captured(active, checked, x * 2)
    finally:
        x = None
    return y, x, len(active)


def calls():
    return [(torch.ones(2),), (torch.tensor([2.0, -1.0]),), (torch.full((2,), 3.0),)]

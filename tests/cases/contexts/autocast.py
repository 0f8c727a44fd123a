"""Autocast on the CPU: as a context, nested, off inside, as a decorator, with questions inside."""

import torch

GRAPHS = 1


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x, w):
    return x @ w


def fn(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast("cpu", enabled=False):
            z = x @ w
            off = torch.is_autocast_enabled("cpu")
        on = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        s = torch.nn.functional.softmax(y, dim=-1)
    return y, y.float() + 1, z, s, off, on, decorated(x, w), x @ w


def inputs():
    return torch.randn(2, 3), torch.randn(3, 2)

"""`torch._check` of what is known while tracing leaves nothing behind, or raises."""

import torch

GRAPHS = 1


def fn(x):
    torch._check(x.shape[0] > 1)
    torch._check(True, lambda: "fine")
    torch._check_value(x.dim() == 1, lambda: f"got {x.dim()}")
    try:
        torch._check(x.shape[0] > 10, lambda: f"too small: {x.shape[0]}")
    except RuntimeError as e:
        return x + 1, str(e)
    return x


def inputs():
    return (torch.ones(2),)

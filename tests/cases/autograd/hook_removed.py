"""What registering a hook gives is used."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 0
BREAKS = ["Unsupported Tensor.register_hook() call", "Text of RuntimeError object"]

# The number of a handle depends on what else the process has registered.
SNAPSHOT = False


def fn(x, numbers):
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    z = y * y
    handle.remove()
    z.register_hook(numbers.append)
    try:
        z.detach().register_hook(numbers.append)
    except RuntimeError as e:
        return z, str(e)
    return z


def inputs():
    return torch.linspace(0, 1, 3).requires_grad_(), []

"""no_grad, enable_grad and set_grad_enabled inside the function."""

import torch

GRAPHS = 1


def fn(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
    c = x * 4
    return a, b, c


def inputs():
    return (torch.ones(2, requires_grad=True),)

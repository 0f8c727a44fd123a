"""A call of set_grad_enabled lasts beyond the function."""

import torch

GRAPHS = 2


def before(index):
    torch.set_grad_enabled(True)


def fn(x, on):
    y = x * 2
    torch.set_grad_enabled(on)
    return y, x * 3


def calls():
    x = torch.ones(2, requires_grad=True)
    return [(x, False), (x, True), (x, False)]


def make():
    def outer(x, on):
        try:
            return fn(x, on)
        finally:
            torch.set_grad_enabled(True)

    return outer

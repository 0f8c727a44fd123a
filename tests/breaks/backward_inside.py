"""`backward()` inside of the compiled function."""

import torch


def fn(x):
    w = torch.nn.Parameter(torch.ones(4))
    (w * x).sum().backward()
    return w.grad


def instead(x):
    # Or compile the forward pass alone and call `loss.backward()` outside.
    return torch.func.grad(lambda w: (w * x).sum())(torch.ones(4))


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""A size that is read from a tensor."""

import torch


def fn(x):
    n = int(x.max())
    return torch.zeros(n) if n > 5 else x[:n] + 1


def instead(x, n=2):
    # The caller knows it, or reads it before the call.
    return torch.zeros(n) if n > 5 else x[:n] + 1


def inputs():
    return (torch.linspace(-1, 2, 4),)

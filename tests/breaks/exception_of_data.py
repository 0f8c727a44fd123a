"""An exception that depends on the value of a tensor and is caught."""

import torch


def fn(x):
    try:
        if x.min() < 0:
            raise ValueError
    except ValueError:
        return x.clamp(min=0)
    return x


def instead(x):
    return torch.where(x.min() < 0, x.clamp(min=0), x)


def inputs():
    return (torch.linspace(-1, 2, 4),)

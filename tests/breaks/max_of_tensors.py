"""Python's `max` and `min` of a tensor and a number."""

import torch


def fn(x):
    return max(x.sum(), 0.5) + x


def instead(x):
    return x.sum().clamp(min=0.5) + x


def inputs():
    return (torch.linspace(-1, 2, 4),)

"""Gradients flow across a graph break."""

import torch


def fn(x):
    y = x * 2
    print("break")
    return (y**2).sum()


def inputs():
    return (torch.randn(3, requires_grad=True),)

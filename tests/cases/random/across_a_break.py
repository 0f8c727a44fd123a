"""Random ops before and after a break."""

import torch


def fn(x):
    a = torch.rand(2)
    print("break")
    b = torch.rand(2)
    return x + a, b


def inputs():
    return (torch.ones(2),)

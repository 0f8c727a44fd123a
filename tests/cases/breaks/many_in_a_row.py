"""Several breaks with nothing and with something between them."""

import torch


def fn(x):
    print("a")
    print("b")
    x = x + 1
    print("c")
    x = x * 2
    return x


def inputs():
    return (torch.ones(2),)

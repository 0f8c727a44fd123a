"""print is a graph break: the parts around it are captured, what is printed stays."""

import torch

GRAPHS = 2


def fn(x):
    y = x + 1
    print("n", 3, sep="=")
    return y * 2


def inputs():
    return (torch.ones(2),)

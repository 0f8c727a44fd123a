"""A Parameter, a buffer and a plain tensor."""

import torch

GRAPHS = 2


def fn(x):
    return x + 1, type(x).__name__


def calls():
    return [
        (torch.ones(2),),
        (torch.nn.Parameter(torch.ones(2)),),
        (torch.nn.Buffer(torch.ones(2)),),
    ]

"""Transposed, expanded, sliced and channels-last inputs keep their strides."""

import torch

GRAPHS = 5


def fn(x):
    return x + 1, x.contiguous(), x * 2


def calls():
    a = torch.randn(2, 3)
    b = torch.randn(1, 2, 3, 3)
    return [
        (a,),
        (a.t(),),
        (torch.ones(1).expand(4),),
        (torch.arange(6.0)[::2],),
        (b.to(memory_format=torch.channels_last),),
    ]

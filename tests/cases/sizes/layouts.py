"""Strides that follow from dynamic sizes, and others that do not."""

import torch

GRAPHS = 5
REFERENCE_GRAPHS = 8


def fn(x):
    return x + 1, x.reshape(-1), x.is_contiguous()


def calls():
    return [
        (torch.randn(3, 4),),
        (torch.randn(5, 4),),
        (torch.randn(4, 6).t(),),
        (torch.randn(4, 7).t(),),
        (torch.randn(6, 8)[:, :4],),
        (torch.randn(7, 9)[:, :4],),
        (torch.randn(7, 4),),
        (torch.randn(1, 4).expand(8, 4),),
    ]

"""Arithmetic on sizes."""

import torch

GRAPHS = 1


def fn(x):
    b, *rest = x.shape
    n = x.size(1) * x.shape[-1] // 2
    shape = x.shape[:-1] + (1,)
    return (
        x.view(b, -1) * n,
        x.reshape(shape[0], n * 2),
        x.shape,
        x.size(),
        x.shape.numel(),
        torch.Size([1, 2]) + (3,),
        x.stride(),
        x.ndim,
        list(rest),
        x.shape == torch.Size([2, 3, 4]),
        x.expand(5, *x.shape).shape,
    )


def inputs():
    return (torch.randn(2, 3, 4),)

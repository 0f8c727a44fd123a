"""A branch on a tensor's shape, dtype and number of dimensions."""

import torch

GRAPHS = 3


def fn(x):
    if x.dim() == 1:
        return x + x.shape[0]
    if x.dtype == torch.float64 and x.size(-1) > 2:
        return x * x.numel()
    return x - len(x)


def calls():
    return [
        (torch.ones(2),),
        (torch.ones(2, 3, dtype=torch.float64),),
        (torch.ones(2, 2),),
        (torch.ones(2),),
    ]

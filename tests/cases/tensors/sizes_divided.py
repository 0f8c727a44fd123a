"""Sizes computed by `torch.div` are known where operations and slices take them."""

import torch

GRAPHS = 1


def fn(x):
    n = torch.div(x.size(0), 2, rounding_mode="trunc")
    m = torch.div(-x.size(0), 3, rounding_mode="floor")
    k = torch.floor_divide(torch.tensor(x.size(1)), 2)
    return (
        x.view(n, -1),
        x.new_zeros((n, 3 - m)),
        x.as_strided(size=[n, 2], stride=[1, k]),
        x[:n, k:],
        torch.zeros(n - 1, 2),
        x.narrow(0, 1, n),
        x[n],
        x[torch.tensor([1])],
    )


def inputs():
    return (torch.ones(4, 4),)

"""Every form of subscript of a tensor."""

import torch

GRAPHS = 1


def fn(x, i):
    return (
        x[0],
        x[-1],
        x[1:],
        x[::2],
        x[..., 0],
        x[:, None],
        x[0, 1],
        x[:, 1:3],
        x[i],
        x[:, i],
        x[[0, 1]],
        x[None, ..., 1:],
        x[True].shape,
    )


def inputs():
    return torch.randn(3, 4), torch.tensor([0, 2])

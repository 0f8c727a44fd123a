"""`vmap` of a function that gives its argument back, changed or not, gives the very tensor."""

import torch

GRAPHS = 1


def fn(x):
    y = torch.vmap(torch.Tensor.neg_)(x)
    z = x.clone()
    same = torch.vmap(lambda t: t)(z)
    columns = torch.vmap(lambda t: t, in_dims=1, out_dims=-1)(z)
    moved = torch.vmap(lambda t: t, in_dims=1)(z)
    first, second = torch.vmap(lambda a, b: (b, a.mul_(2)))(z, y)
    return (
        y is x,
        same is z,
        columns is z,
        moved is z,
        first is x,
        second is z,
        moved.stride(),
        x + 1,
    )


def inputs():
    return (torch.arange(6.0).reshape(2, 3),)

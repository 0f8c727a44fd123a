"""`torch.vmap` is captured: dimensions, nesting, closures, several results, in-place writes."""

import torch

#: A set of types is guarded item by item, in the order of their addresses.
SNAPSHOT = False
GRAPHS = 1
scale = torch.arange(3.0)


def dot(a, b):
    return (a * b).sum() + scale[0]


def both(x, y):
    z = x + y
    z.mul_(2)
    return {"sum": z, "pair": (x[0], y.reshape(-1))}


def split(x):
    a, b = x.chunk(2)
    return torch.stack([a, b]).transpose(0, 1) if x.shape[0] == 4 else x


def fn(x, y):
    a = torch.vmap(dot)(x, y)
    b = torch.vmap(both, in_dims=(1, None))(x, y[:, 0])
    c = torch.vmap(torch.vmap(torch.mul), in_dims=(0, 1))(x, y.T)
    d = torch.vmap(split, out_dims=1)(torch.ones(3, 4))
    e = torch.vmap(lambda t: t.view(3, 1), out_dims=2)(x)
    f = torch.vmap(dot, in_dims=0, chunk_size=1)(x, y)
    return a, b, c, d, d.stride(), e, e.stride(), e.is_contiguous(), f


def inputs():
    return torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)

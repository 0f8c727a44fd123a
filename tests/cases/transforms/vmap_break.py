"""A break inside a function under `vmap` leaves the whole call to plain Python."""

import torch

GRAPHS = 1
BYTECODE = True

seen = []


def inner(x):
    seen.append(1)
    torch._dynamo.graph_break()
    return x * 2


def fn(x):
    y = torch.vmap(inner)(x + 1)
    try:
        torch.vmap(lambda t: t * 2 if t.sum() > 0 else t)(x)
    except RuntimeError as e:
        return y, "data-dependent" in str(e)
    return y


def inputs():
    return (torch.ones(2, 3),)

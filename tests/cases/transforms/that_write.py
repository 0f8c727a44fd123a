"""Functions of transforms that write to tensors of their own, and to views of them."""

import torch
from torch.func import grad, vjp

GRAPHS = 1
SNAPSHOT = False


def fn(x):
    def writes(y):
        z = torch.zeros(3)
        z[:2] = y[:2] * 2
        z.add_(y)
        z[0] = 1.0
        return (z * y).sum() * (2 if z.requires_grad else 3)

    def gives_many(y):
        parts = list((y * 2).split(1))
        parts[0] = parts[0].clone().mul_(y[0])
        return {"all": torch.cat(parts), "first": parts[0]}

    out, pull = vjp(gives_many, x)
    return grad(writes)(x), out, pull(out), pull({"all": x, "first": x[:1]})


def inputs():
    return (torch.linspace(0, 1, 3),)

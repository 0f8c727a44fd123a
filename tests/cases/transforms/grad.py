"""The steps of `grad` are in the graph: of tensors from around it, nested, under `vmap`."""

import torch
from torch.func import grad, grad_and_value, vmap

GRAPHS = 1
# torch goes through a set of classes, whose order is that of their addresses.
SNAPSHOT = False


def cubes(y, w):
    return ((y * w) ** 3).sum()


def fn(x, w):
    x, z = x * 2, w * 3
    simple = grad(lambda y: (y * z * w).sum() * x.mean())(x)
    both, (value, rest) = grad_and_value(
        lambda y, w, k: ((y * w).sum() * k, {"y": y + 1, "list": [y * w]}),
        argnums=(0, 1),
        has_aux=True,
    )(x, w, 0.5)
    second = grad(lambda a: grad(lambda b: (b**3).sum())(a * 2).sum())(x)
    rows = vmap(grad(cubes), (0, None))(torch.stack([x, w]), w)
    inside = grad(lambda a: vmap(lambda row: (row * w).sin())(a).sum())(torch.stack([x, w]))
    same = grad(lambda a, b: (a * b).sum(), (0, 1))(x, x)
    return simple, both, value, rest, second, rows, inside, same


def inputs():
    return torch.linspace(0, 1, 3).requires_grad_(), torch.ones(3, requires_grad=True)

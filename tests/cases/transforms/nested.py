"""Transforms in transforms: levels of each kind within each other, of tensors from outside."""

import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

GRAPHS = 1
SNAPSHOT = False


def energy(y):
    return (y.sin() * y.sum()).sum()


def fn(x, w, rows):
    asked = []

    def asks(y):
        asked.append((y.requires_grad, w.requires_grad, (w * 2).requires_grad, (y * 2).is_leaf))
        return (y * w).sum()

    third = grad(grad(grad(lambda a: a**4)))(x[0])
    along = jvp(lambda y: jvp(torch.sin, (y,), (w,))[1], (x,), (x,))
    of_tangent = grad(lambda y: jvp(lambda z: z**3 * w, (y,), (y,))[1].sum())(x)
    each = vmap(lambda row: jacrev(lambda a: a * a * w)(row), randomness="same")(rows)
    nested = vmap(vmap(grad(lambda a: a**3)))(rows)
    inside = grad(lambda a: vmap(vjp(torch.cos, a)[1])(torch.eye(3))[0].sum())(x)
    second = jacrev(jacrev(energy))(x), jacfwd(jacfwd(energy))(x), hessian(energy)(x)
    with torch.no_grad():
        still = grad(lambda y: (y * y.detach() * w).sum())(x)
    return third, along, of_tangent, each, nested, inside, second, still, grad(asks)(x), asked


def inputs():
    w = torch.linspace(1, 2, 3).requires_grad_()
    return torch.linspace(0, 1, 3), w, torch.arange(6.0).view(2, 3) / 6

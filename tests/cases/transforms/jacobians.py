"""The steps of `jvp`, `jacrev`, `jacfwd` and `hessian` are in the graph."""

import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp

GRAPHS = 1
# Guards of the Python of torch that is inlined are a thousand lines.
SNAPSHOT = False


def scaled(y):
    return y.sin() * y.sum()


def fn(x, t):
    x = x * 2
    out, along = jvp(lambda y, z: (y.sin() * z, y.cos()), (x, t), (t, x))
    product = jvp(grad(lambda y: (y**4).sum()), (x,), (t,))[1]
    rows = jacrev(lambda y, w: (w * y, y * 2), argnums=(0, 1), has_aux=True)(x, t)
    return out, along, product, rows, jacrev(scaled)(x), jacfwd(scaled)(x), second(x)


second = hessian(lambda y: scaled(y).sum())


def inputs():
    return torch.linspace(0, 1, 3).requires_grad_(), torch.arange(3.0)

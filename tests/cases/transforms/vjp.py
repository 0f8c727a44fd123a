"""The steps of `vjp` are in the graph, and those of each call of the function that it gives."""

import torch
from torch.func import grad, jvp, vjp

GRAPHS = 1
# Guards of the Python of torch that is inlined are a thousand lines.
SNAPSHOT = False


def fn(x, v):
    x = x * 2
    out, pull = vjp(torch.sin, x)
    both, pull_both = vjp(lambda a, b: {"sum": a + b, "product": (a * b * x).cos()}, x, v)
    value, pull_value, aux = vjp(lambda a: (a @ a, [a, a.exp()]), x, has_aux=True)
    rows = torch.vmap(pull)(torch.eye(3))

    def first(a):
        return vjp(torch.sin, a)[1](v)[0].sum()

    return (
        out,
        pull(v),
        pull(v * 2),
        pull_both(both),
        pull_both({"sum": v, "product": out}),
        pull_value(value),
        aux[0] is x,
        aux,
        rows,
        grad(first)(x),
        jvp(first, (x,), (v,)),
    )


def inputs():
    return torch.linspace(0, 1, 3).requires_grad_(), torch.arange(3.0)

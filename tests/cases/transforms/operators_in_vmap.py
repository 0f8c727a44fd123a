"""`torch.cond` and `scan` of batches of `torch.vmap`, and results that are no batches."""

import torch
import torch._dynamo
from torch._higher_order_ops.scan import scan

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False
ALONE = True

# Eager mode compiles the operators, and refuses sizes that it has seen change.
torch._dynamo.reset()


def fn(x):
    some = x.sum() > 0
    weights = x.sum(0)

    def by_row(row):
        return torch.cond(row.sum() > 0, lambda a: a + weights, lambda a: a * 2, (row,))

    def for_all(row, other):
        return torch.cond(some, lambda a, b: a + b, lambda a, b: a - b * weights, (row, other))

    def inner(row):
        def of_one(v):
            return torch.cond(v > 0, lambda a: a.sin(), lambda a: a * a, (v,))

        return torch.vmap(of_one)(row)

    def column(values):
        return scan(lambda c, v: (c + v, c * v), values[0] * 0, values)[1]

    return (
        torch.vmap(by_row)(x),
        torch.vmap(for_all, in_dims=(0, None), out_dims=1)(x, weights),
        torch.vmap(inner)(x),
        torch.vmap(lambda row: (row * 2, torch.ones(3)), out_dims=(0, None))(x),
        torch.vmap(column, in_dims=1)(x),
    )


def inputs():
    return calls()[0]


def calls():
    return [(torch.arange(2.0 * n).reshape(n, 2) - 4,) for n in (3, 4, 5, 8)]

"""Loops inside the functions of other operators: a loop, a condition, a scan."""

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 1
SNAPSHOT = False
ALONE = True


def times(n, f, a):
    start = torch.tensor(0)
    return while_loop(lambda i, a: i < n, lambda i, a: (i + 1, f(a)), (start, a))[1]


def fn(x, scale, weight):
    twice = times(3, lambda a: times(2, lambda b: b * scale, a) + 1, x)
    decided = torch.cond(
        x.sum() > 2, lambda a: times(2, torch.sin, a), lambda a: times(4, torch.cos, a), (x,)
    )

    def raised(a):
        return times(2, lambda b: b * weight, a) + weight

    recorded = times(2, raised, x * weight)
    rows = scan(lambda c, a: (times(2, lambda b: b + a, c), c * a), torch.zeros(3), x)
    return twice, decided, recorded, *rows


def inputs():
    weight = torch.full((3,), 0.5, requires_grad=True)
    return torch.arange(6.0).reshape(2, 3) / 4, torch.tensor(1.5), weight

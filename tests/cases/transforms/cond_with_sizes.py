"""Sizes that are no constants, in functions of control flow operators and among their operands."""

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 2
REFERENCE_GRAPHS = 3
BACKWARD = True
SNAPSHOT = False
ALONE = True


def fn(x, n):
    rows = x.size(0)
    flat = torch.cond(
        x.sum() > 0, lambda a: a.view(rows * 3) * n, lambda a: a.reshape(rows * 3) + rows, (x,)
    )
    inside = torch.cond(
        x.sum() > 0, lambda a: a.view(a.size(0), 3, 1).sum(1), lambda a: a[:, :1] * n, (x,)
    )
    mapped = map_rows(lambda row: row * rows + n, x)
    _, summed = scan(lambda c, row: (c + row, c * rows), x[0] * 0, x)
    count, _ = while_loop(
        lambda i, v: i < n, lambda i, v: (i + 1, v + rows), (torch.tensor(0), flat.detach())
    )
    return flat, inside, mapped, summed, count


def inputs():
    return calls()[0]


def calls():
    def given(rows, n, sign):
        return torch.full((rows, 3), sign, requires_grad=True), n

    return [given(4, 2, 1.0), given(5, 3, -1.0), given(6, 4, 1.0), given(7, 5, -1.0)]

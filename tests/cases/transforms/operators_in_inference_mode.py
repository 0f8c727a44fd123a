"""Control flow operators where tensors are made in inference mode."""

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 2
REFERENCE_GRAPHS = 4
SNAPSHOT = False
ALONE = True


def fn(x):
    with torch.inference_mode():
        y = x * 2
        chosen = torch.cond(y.sum() > 0, lambda a: a + y, lambda a: a - 2, (x,))
        count, grown = while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), chosen)
        )
        _, summed = scan(lambda c, row: (c + row, c * row), torch.zeros(2), y)
        return chosen, count, grown, summed, map_rows(lambda row: row.sin(), y)


def inputs():
    return calls()[0]


def calls():
    return [(torch.arange(2.0 * n).reshape(n, 2) - 4,) for n in (3, 4, 5, 8)]

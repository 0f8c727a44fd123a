"""What loops carry lies in the memory of what they read; a branch has a checkpoint."""

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils.checkpoint import checkpoint

GRAPHS = 2
REFERENCE_GRAPHS = 3
SNAPSHOT = False
ALONE = True


def fn(x):
    last, rows = scan(lambda c, v: (c + v, c * v + x[1]), x[0], x[1:])
    start = torch.tensor(0)
    _, a, b = while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a + b * x[2], b * 2), (start, x[0], x[1])
    )
    chosen = torch.cond(
        last.sum() > 0,
        lambda v: checkpoint(lambda v, k: v.sin() * k, v, k=2, use_reentrant=False),
        torch.cos,
        (a,),
    )
    return rows, b, chosen


def inputs():
    return calls()[0]


def calls():
    return [(torch.linspace(-1, n - 2, n * 2).reshape(n, 2),) for n in (3, 4, 5)]

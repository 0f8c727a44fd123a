"""What loop operators refuse, functions with effects, and floats that are carried."""

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 6
REFERENCE_GRAPHS = 0
BREAKS = [
    "Unsupported: torch.while_loop of an operand that is no tensor",
    "Operation that can't be described without running it: torch.while_loop",
    "Unsupported: torch.while_loop of functions whose results do not fit",
]
SNAPSHOT = False
ALONE = True


def caught(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


def fn(x, seen):
    y = x * 2

    def notes(a):
        seen.append(1)
        return a + 1

    results = [
        caught(lambda: while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (0.0, y))),
        caught(lambda: while_loop(lambda a: a.sum() < 9, lambda a: (a.double(),), (y,))),
        caught(lambda: while_loop(lambda a: a < 9, lambda a: (a * 2,), (y,))),
        caught(lambda: while_loop(lambda a: a.sum() < 9, lambda a: (notes(a),), (y,))),
        caught(lambda: while_loop(lambda a: a.sum() < 9, lambda a: (a,), (y,))),
        caught(lambda: scan(lambda c, a: (c + a, a), torch.zeros(3), y)),
        caught(lambda: scan(lambda c, a: (c.double() + a, c * a), torch.zeros(3), y)),
        caught(lambda: scan(lambda c, a: (c + notes(a), c * a), torch.zeros(3), y)),
        caught(lambda: map_rows(lambda a: a, y)),
        caught(lambda: map_rows(notes, y)),
        caught(lambda: map_rows(lambda a: a + 1, y[:0])),
        caught(lambda: map_rows(lambda a, b: a + b, y, 3)),
    ]
    return results, len(seen)


def inputs():
    return torch.ones(2, 3), []

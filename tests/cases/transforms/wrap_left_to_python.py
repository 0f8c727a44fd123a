"""`wrap` of a function that does more than compute runs in eager mode."""

import torch
from torch._higher_order_ops.wrap import wrap

BREAKS = ["torch.ops.higher_order.wrap of a function with side effects"]
SNAPSHOT = False


def fn(x, seen):
    y = x + 1

    def notes(t):
        seen.append(len(seen))
        return t.sin()

    return wrap(notes, y) * 2


def inputs():
    return torch.ones(3), []

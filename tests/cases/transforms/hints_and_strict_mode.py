"""`hints_wrapper` and `strict_mode` are nodes with the graphs of their functions."""

import torch
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.strict_mode import strict_mode

GRAPHS = 1
SNAPSHOT = False

shift = torch.full((3,), 0.5)


def fn(x, y):
    def body(a, b):
        return a.relu() + b + shift, a - b

    hinted = hints_wrapper(body, (x, y), {}, hints={"level": 2, "kind": "fast"})
    strict = strict_mode(lambda a, b: [a * b, a.sin() + shift], (x, y))
    return hinted, strict


def inputs():
    return torch.ones(3), torch.full((3,), -2.0)

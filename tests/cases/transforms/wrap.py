"""`wrap` is a node with the graph of its function: closures, keywords, containers, numbers."""

import torch
from torch._higher_order_ops.wrap import wrap

GRAPHS = 2
REFERENCE_GRAPHS = 4
BACKWARD = True
SNAPSHOT = False

layer = torch.nn.Linear(3, 3)
shift = torch.full((3,), 0.5)


def fn(x, w, n, scale):
    def outer(a, b, *, times=2):
        inner = wrap(lambda t: layer(t) + shift, a)
        return {"sum": a * b + inner, "parts": [a + times, (w, b.sin())], "name": "outer"}

    made = wrap(outer, x, x * w, times=3)
    numbers = wrap(lambda t, k: t * n + k * scale, x, 2)
    same = wrap(lambda t: t, x)
    wide = wrap(lambda t: t.unsqueeze(1).expand(t.size(0), n, t.size(1)), x)
    return made["sum"], made["parts"], made["name"], numbers, same is x, wide


def inputs():
    return calls()[0]


def calls():
    def given(n, scale):
        return (
            torch.ones(2, 3, requires_grad=True),
            torch.full((3,), 2.0, requires_grad=True),
            n,
            scale,
        )

    return [given(2, 1.5), given(3, 2.5), given(4, 3.5), given(5, 0.5)]

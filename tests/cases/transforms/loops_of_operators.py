"""`while_loop`, `scan` and `map` are nodes of the graph."""

import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

GRAPHS = 1
BACKWARD = True
SNAPSHOT = False
ALONE = True


def fn(x, w, limit):
    y = x * 2
    # Its value is known, but only in the first round.
    start = torch.tensor(0)
    rounds, last = while_loop(
        lambda i, a: i < limit, lambda i, a: (i + 1, a * 2 + w), (start, y.detach())
    )
    held = while_loop(
        lambda d: d["i"] < 2, lambda d: {"i": d["i"] + 1, "a": d["a"] + y}, ({"i": start, "a": y},)
    )
    carry, rows = scan(lambda c, a: (c + a * w[0], {"r": c * a}), w[0] * 3, y)
    backwards = scan(lambda c, a: (c + a, c * 1), torch.zeros(2), y, dim=1, reverse=True)
    mapped = map_rows(lambda a, b: (a * b * w[0], [a.sum()]), y, w[1] * 2)
    steps = map_rows(lambda i: w.sum() * i, torch.tensor([1, 2, 3]))
    return rounds, last, held, carry, rows, backwards, mapped, steps


def inputs():
    x = torch.linspace(0, 1, 6).reshape(2, 3).requires_grad_()
    return x, torch.ones(2, 3, requires_grad=True), torch.tensor(3)


def calls():
    x = torch.linspace(0, 1, 6).reshape(2, 3).requires_grad_()
    w = torch.full((2, 3), 2.0, requires_grad=True)
    return [inputs(), (x, w, torch.tensor(0)), (x, w, torch.tensor(1))]

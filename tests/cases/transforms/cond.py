"""`torch.cond` is a node of the graph: functions that use tensors and modules from around them."""

import collections

import torch

GRAPHS = 1
BACKWARD = True
SNAPSHOT = False
ALONE = True

layer = torch.nn.Linear(3, 3)
Pair = collections.namedtuple("Pair", "left right")


def switched(pair):
    with torch.no_grad():
        scale = pair.left.exp()
    return Pair(scale * pair.right, pair.left + 1)


def fn(x, w, flag):
    y = x * 2
    closed = torch.cond(y.sum() > 0, lambda a: (a * w).sin(), lambda a: layer(a), (y,))
    parts = torch.cond(
        flag,
        lambda d: {"a": d["a"] + y, "b": [d["b"].sum()]},
        lambda d: {"a": d["a"] - 1, "b": [d["b"].mean() + w.sum()]},
        ({"a": y, "b": w},),
    )
    nested = torch.cond(
        flag,
        lambda a: torch.cond(a.sum() > 1, torch.sin, torch.cos, (a,)) + 1,
        lambda a: a.clone(),
        (closed,),
    )
    constant = torch.cond(x.shape[0] > 1, lambda a, b: a + b, lambda a, b: a - b, (x, 3))
    alone = torch.cond(flag, lambda: w.exp(), lambda: y + 1)
    twice = torch.cond(flag, lambda a, b: a * b, lambda a, b: a - b, (x, x))
    pair = torch.cond(flag, switched, lambda p: Pair(p.right.cos(), p.left * w), (Pair(y, w),))
    number = torch.cond(flag, lambda a: (a + 1, 3), lambda a: (a - 1, 3), (x.detach(),))
    return closed, parts, nested, constant, alone, twice, pair, number


def inputs():
    x = torch.ones(2, 3).requires_grad_()
    return x, torch.ones(2, 3, requires_grad=True), torch.tensor(True)


def calls():
    x = torch.ones(2, 3).requires_grad_()
    w = torch.full((2, 3), 2.0, requires_grad=True)
    below = torch.full((2, 3), -1.0, requires_grad=True)
    return [inputs(), (x, w, torch.tensor(False)), (below, w, torch.tensor(True))]

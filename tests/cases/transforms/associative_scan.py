"""`associative_scan`: a node of the graph, or, of any function, the operations of each level."""

import torch
from torch._higher_order_ops.associative_scan import associative_scan

GRAPHS = 1
SNAPSHOT = False
ALONE = True


def gated(left, right):
    return {"gate": left["gate"] * right["gate"], "sum": left["sum"] * right["gate"] + right["sum"]}


def fn(x, scale):
    summed = associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")
    multiplied = associative_scan(lambda a, b: a * b * scale, summed, 0) + 1
    state = associative_scan(gated, {"gate": x.sigmoid(), "sum": x * 2}, 0)["sum"]
    backwards = associative_scan(torch.maximum, x, 1, reverse=True)
    return multiplied, state, backwards


def inputs():
    return torch.arange(1.0, 9.0).reshape(4, 2), torch.tensor([0.5, 2.0])


def calls():
    return [inputs(), (torch.ones(4, 2), torch.ones(2)), (torch.full((4, 2), -1.0), torch.ones(2))]

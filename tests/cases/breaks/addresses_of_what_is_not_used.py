"""`id()` of two objects that are both alive is not the same, used again or not."""

import torch

GRAPHS = 1
REFERENCE_GRAPHS = 0


@torch._dynamo.disable
def differ(a, b):
    return a != b


def fn(x):
    s, t = {1, 2}, {1, 2}
    y = x + 1
    first = differ(id(s), id(t))
    a, b = [1], [2]
    ids = id(a), id(b)
    torch._dynamo.graph_break()
    return y, first, ids[0] != ids[1]


def inputs():
    return (torch.ones(2),)

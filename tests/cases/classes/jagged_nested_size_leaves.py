"""The size of rows that differ in length leaves the function, and a break keeps it."""

import torch

BREAKS = ["Call to `graph_break()`"]
SNAPSHOT = False


def fn(x, y):
    n = x.size(1)
    z = torch.sin(x)
    torch._dynamo.graph_break()
    return n == z.size(1), n == y.size(1), z.size(1) == x.shape[1], (z * 2).values()


def calls():
    values = torch.arange(20.0).view(5, 4)
    offsets = torch.tensor([0, 2, 5])
    make = torch.nested.nested_tensor_from_jagged
    x, y = make(values, offsets), make(values, offsets.clone())
    return [(x, y), (x, x)]

"""Functions that are allowed in graphs are given dictionaries with tensors in them."""

import torch

SNAPSHOT = False


@torch.compiler.allow_in_graph
def mixed(x, parts):
    return x * parts["scales"][0] + parts["shift"]


@torch._dynamo.nonstrict_trace
def counted(x, *, parts):
    return x * parts["k"] + len(parts)


def fn(x):
    y = mixed(x, {"scales": [2, x], "shift": x + 1})
    return counted(y, parts={"k": x - 1, "n": 3})


def inputs():
    return (torch.randn(3, requires_grad=True),)


GRAPHS = 1

"""A break inside torch's mode for subscripts: the mode is entered again behind it."""

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

GRAPHS = 3
REFERENCE_GRAPHS = 2
BYTECODE = True


def fn(x, i):
    with TransformGetItemToIndex():
        y = x[i, 0]
        torch._dynamo.graph_break()
        z = x[0, i] + y
    return z, x[0]


def inputs():
    return torch.arange(6.0).reshape(2, 3), torch.tensor([1, 0])

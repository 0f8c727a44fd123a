"""Under torch's mode for index functions, a subscript by batched tensors is a look-up."""

import torch
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

GRAPHS = 1

#: The order of a set of classes, which torch goes through, depends on their addresses.
SNAPSHOT = False


def fn(mask, batch, queries, keys):
    def allowed(b, q, k):
        return (k <= q) & mask[b, k]

    f = torch.vmap(allowed, in_dims=(None, None, 0))
    f = torch.vmap(f, in_dims=(None, 0, None))
    f = torch.vmap(f, in_dims=(0, None, None))
    with TransformGetItemToIndex():
        seen = f(batch, queries, keys)
        row = mask[1, queries]
        part = mask[:, 1:]
    return seen, row, part, mask[0]


def inputs():
    mask = torch.tensor([[True, True, False, True], [False, True, True, True]])
    return mask, torch.arange(2), torch.arange(4), torch.arange(4)

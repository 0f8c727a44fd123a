"""`wrap` of a function that writes to tensors: the next operations see what it wrote."""

import torch
from torch._higher_order_ops.wrap import wrap

GRAPHS = 1
SNAPSHOT = False


def fn(x, out):
    y = x * 2

    def adds(t):
        y.add_(t)
        out.copy_(y)
        return t + 1, y

    made, same = wrap(adds, x)
    zeros = torch.zeros(2, dtype=torch.int64)
    wrap(lambda: zeros.add_(1))
    return made, y * 3, same is y, zeros + zeros.shape[0]


def inputs():
    return torch.ones(3), torch.zeros(3)

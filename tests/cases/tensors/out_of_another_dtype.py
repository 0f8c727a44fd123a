"""`out=` of a dtype that results can be cast to stays in the graph; of another, the call raises."""

import torch

BREAKS = ["out= of another shape or with autograd"]
SNAPSHOT = False


def fn(x, n, floats, ints):
    torch.add(n, 3, out=floats)
    torch.sum(n, dim=0, keepdim=True, out=ints)
    number = torch.add(2, 3, out=torch.zeros(()))
    try:
        torch.mul(x, 0.5, out=n)
    except RuntimeError as error:
        return x + floats, ints, number, str(error)[:20]


def inputs():
    return torch.randn(3), torch.arange(3), torch.zeros(3), torch.zeros(1, dtype=torch.int32)

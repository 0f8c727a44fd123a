"""A dimension that is marked is dynamic at once, or never."""

import torch
import torch._dynamo

GRAPHS = 1


def fn(x, y):
    return x * x.shape[0], y + 1


def calls():
    out = []
    for n in [5, 7, 3, 9]:
        x, y = torch.ones(n, 3), torch.ones(2 + n % 2, 3)
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_static(y, 0)
        out.append((x, y))
    return out

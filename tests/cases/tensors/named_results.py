"""Results of torch.return_types, unpacked and by field."""

import torch

GRAPHS = 1


def fn(x):
    values, indices = x.sort(dim=1)
    m = x.max(dim=0)
    q, r = torch.linalg.qr(x @ x.t())
    return values, indices, m.values + m[0], q @ r, torch.topk(x, 2)


def inputs():
    return (torch.randn(3, 4),)

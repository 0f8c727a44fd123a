"""A tensor made of other tensors' values."""

import torch

GRAPHS = 1


def fn(x, n):
    total = x.sum()
    pair = torch.tensor([total.detach(), n])
    table = torch.tensor([[n, 1], [True, n + 1]], dtype=torch.int64)
    return pair, table, torch.as_tensor([n, 2]), total * n


def inputs():
    return torch.rand(3, requires_grad=True), torch.tensor(2)

"""Tensors of ints, floats and sizes that change: one graph, if no value makes it raise."""

import torch

GRAPHS = 2


def fn(x, n, s):
    size = x.shape[0]
    y = x * torch.tensor(n) + torch.tensor([n, s, 1.5]).sum() + torch.as_tensor([[size, 2]]).sum()
    y = y + x.new_tensor([s]) + torch.tensor((n, size), dtype=torch.float64).mean()
    flags = torch.tensor([n, 0], dtype=torch.bool)
    return y, torch.tensor(s), torch.tensor([size] * 2), flags, torch.tensor(s, dtype=torch.float16)


def calls():
    values = [(3, 2, 0.5), (4, 7, 1e300), (5, -1, float("nan")), (6, 2**60, -0.0), (7, 9, 70000.0)]
    return [(torch.ones(size, 2), n, s) for size, n, s in values]

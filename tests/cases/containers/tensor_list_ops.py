"""Lists of tensors joined by stack and cat, and made by split and chunk."""

import torch

GRAPHS = 1


def fn(x):
    parts = list(torch.split(x, 2))
    a, b = x.chunk(2, dim=1)
    parts = [p * i for i, p in enumerate(parts)]
    return torch.cat(parts), torch.stack([a, b]), torch.stack(parts, dim=1)


def inputs():
    return (torch.randn(4, 4),)

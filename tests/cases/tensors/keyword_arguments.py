"""Keyword arguments of ops: dim, keepdim, out of order."""

import torch

GRAPHS = 1


def fn(x):
    return (
        x.sum(dim=0, keepdim=True),
        torch.mean(x, dim=(0, 1)),
        torch.max(x, dim=1).values,
        x.max(1)[1],
        torch.add(input=x, other=x, alpha=3),
        x.std(unbiased=False),
        torch.cat(tensors=[x, x], dim=1),
        x.argmax(dim=-1),
        torch.topk(x, k=2, dim=1).indices,
        x.clamp(min=0),
    )


def inputs():
    return (torch.randn(3, 4),)

"""Contractions: einsum, bmm, tensordot, outer."""

import torch

GRAPHS = 1


def fn(a, b):
    return (
        torch.einsum("bij,bjk->bik", a, b),
        torch.bmm(a, b),
        torch.tensordot(a[0], b[0], dims=1),
        torch.outer(a[0, 0], b[0, 0]),
        torch.einsum("ii->i", a[0]),
    )


def inputs():
    return torch.randn(2, 3, 3), torch.randn(2, 3, 3)

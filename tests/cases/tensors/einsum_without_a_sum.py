"""`einsum` that sums over nothing multiplies, which promotes types."""

import torch

GRAPHS = 1


def fn(x, n):
    freqs = torch.einsum("i, j -> i j", torch.arange(4), x[0])
    swapped = torch.einsum("i,j->ji", n, x[0])
    batch = torch.einsum("bi,bj->jbi", x, x.T.contiguous().T)
    return (
        freqs,
        swapped,
        batch,
        torch.einsum("ij,ij->ji", x, n[:2, None] * x),
        torch.einsum("i,i->i", n, n),
    )


def inputs():
    return torch.rand(2, 3), torch.arange(3)

"""An int that changes stays an int of the graph for what traces it: places, roots, weights."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 2
SNAPSHOT = False


def fn(x, n, sizes):
    y = x[n] + x[-n] + x.select_scatter(x[0], 0, n).sum(0)
    y = y + x.kthvalue(n)[0] + x.tril(n).sum(0) + torch.triu(x, n - 3).sum(0)
    last = sizes[sizes.size(0) - 1]
    return y * n**-0.5 + x[0].lerp(x[1], n) * last, x[n][0]


def calls():
    return [(torch.arange(81.0).view(9, 9).sin(), n, torch.arange(n + 1.0)) for n in range(3, 8)]

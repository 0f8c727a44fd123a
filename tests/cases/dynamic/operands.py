"""Operations that take an int as a number: it is an input of the graph."""

import torch

GRAPHS = 2


def fn(x, n):
    y = x * n + (n + 1)
    y = torch.add(y, x, alpha=n).sub(n) / (n * n + 1)
    y += n
    y.mul_(n)
    z = torch.where(x > n, n, x).clamp(min=n - 2)
    return y, n - x, x**n, x == n, z, torch.full((2,), n), x.masked_fill(x > 0, n)


def calls():
    x = torch.tensor([1.0, 2.0, 30.0])
    return [(x.clone(), n) for n in [3, 4, -5, 11, 0, 1, 2**20]]

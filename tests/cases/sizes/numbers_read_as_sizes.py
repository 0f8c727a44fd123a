"""A number that is read from a tensor is a size once the program says enough of it."""

import torch

OPTIONS = {"capture_scalar_outputs": True}
GRAPHS = 1


def fn(t, y):
    n = t.item()
    torch._check(n >= 2)
    torch._check(n < y.shape[0])
    made = torch.zeros(n, 3) + 1
    first = y[:n] * 2
    part = y.narrow(0, 1, n - 1) + n
    twice = n * 2 + 1
    full = torch.full((twice,), 0.5) + y[n]
    if n > 1:
        made = made.view(-1) * 2
    grown = y[:1].expand(n) + torch.arange(n)
    return made, first, part, full, n // 2, made.numel(), grown


def calls():
    return [(torch.tensor(n), torch.randn(8)) for n in (4, 6, 3)]

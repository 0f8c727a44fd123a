"""`torch.Size` of sizes that change, and factories with all of their options."""

import torch

GRAPHS = 2
SNAPSHOT = False
REFERENCE_WRONG = "raises for `generator=None` with sizes that change"


def fn(x):
    size = torch.Size((x.shape[0], 3))
    assert x.size() == size
    y = x + torch.ones(torch.Size([*x.shape]), layout=torch.strided)
    y = y.expand(torch.Size((2, *x.shape))) * size.numel()
    noise = torch.randn(size, generator=None, layout=torch.strided, dtype=x.dtype)
    places = torch.randint(0, 5, x.shape, generator=None)
    return y, noise, places, torch.Size(d for d in x.shape), torch.Size(x.shape[:1])


def calls():
    return [(torch.arange(n * 3.0).reshape(n, 3),) for n in (4, 5, 7, 9)]

"""A number that changes does not fit the dtype of a tensor: the handler gets the error."""

import torch

GRAPHS = 35
REFERENCE_GRAPHS = 6


def attempt(make):
    try:
        return make()
    except RuntimeError as e:
        return str(e)


def write(x, n):
    x[0] = n
    return x


def fn(x, f, n, s):
    y = f * 2
    return (
        y,
        attempt(lambda: torch.full((2,), n, dtype=torch.int8)),
        attempt(lambda: x.masked_fill(x > 0, n)),
        attempt(lambda: x.clone().fill_(n)),
        attempt(lambda: torch.where(x > 0, n, x)),
        attempt(lambda: x.clamp(max=n)),
        attempt(lambda: write(x.clone(), n)),
        attempt(lambda: torch.add(x, x, alpha=n)),
        attempt(lambda: torch.full((2,), s)),
        attempt(lambda: f.new_full((2,), s)),
        attempt(lambda: torch.full_like(f, s)),
        attempt(lambda: f.masked_fill(f > 0, s)),
        attempt(lambda: torch.nn.functional.pad(f, (1, 1), value=s)),
        attempt(lambda: torch.add(f, f, alpha=s)),
    )


def calls():
    values = [(1, 0.5), (2, 1.5), (300, 2.5), (4, 1e300), (-(2**40), -1e300), (5, 3.5)]
    x, f = torch.ones(2, dtype=torch.int8), torch.ones(2)
    return [(x, f, n, s) for n, s in values]

"""A constant does not fit the dtype of a tensor: the handler gets the error."""

import torch
import torch.nn.functional as F


def attempt(make):
    try:
        return make()
    except RuntimeError as e:
        return str(e)


def write(x, n):
    x[0] = n
    return x


def fn(x, f):
    y = f * 2
    return (
        y,
        attempt(lambda: torch.full((2,), 300, dtype=torch.int8)),
        attempt(lambda: torch.full((2,), -200, dtype=torch.uint8)),
        attempt(lambda: torch.full((2,), -500, dtype=torch.uint8)),
        attempt(lambda: torch.full((2,), float("nan"), dtype=torch.int32)),
        attempt(lambda: torch.full((2,), 1e300)),
        attempt(lambda: torch.full((2,), float("inf"))),
        attempt(lambda: x.masked_fill(x > 0, 300)),
        attempt(lambda: x.clone().fill_(300)),
        attempt(lambda: torch.where(x > 0, 300, x)),
        attempt(lambda: x.clamp(max=300)),
        attempt(lambda: write(x.clone(), 300)),
        attempt(lambda: torch.add(x, x, alpha=300)),
        attempt(lambda: f.half().fill_(1e6)),
        attempt(lambda: f.half() + 1e6),
        attempt(lambda: f + 1e300),
        attempt(lambda: F.leaky_relu(f, 1e300)),
        attempt(lambda: F.softplus(f, 1e300)),
        attempt(lambda: torch.lerp(f, f, 1e300)),
        attempt(lambda: torch.addmm(f, f.view(2, 1), f.view(1, 2), beta=1e300)),
    )


def inputs():
    return torch.ones(2, dtype=torch.int8), torch.ones(2)


# The function runs in eager mode where the graph raises; its lambdas are captured each for itself.
GRAPHS = 21
SNAPSHOT = False

"""What `vjp` gave leaves the function, or is needed behind a break: `vjp` runs as plain Python."""

import torch
from torch.func import vjp

GRAPHS = 3
# Guards of the Python of torch that is inlined are a thousand lines.
SNAPSHOT = False


def fn(x, v):
    y = torch.sin(x)
    out, pull = vjp(torch.cos, y)
    print("between")
    (gradient,) = pull(v)
    again, kept = vjp(torch.exp, gradient)
    try:
        kept(v[:1])
    except RuntimeError as error:
        out = out + len(str(error)) * 0
    return out, again + 1, kept(v)


def inputs():
    return torch.linspace(0, 1, 3), torch.arange(3.0)

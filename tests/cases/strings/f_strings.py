"""f-strings: conversions, formats, nested fields."""

import torch

GRAPHS = 1


def fn(x, n, f):
    width = 8
    return (
        x + n,
        f"{n}",
        f"{n:>5}|{f:.2f}|{n!r}",
        f"{'a'!r:>{width}}",
        f"{n=}",
        f"{x.shape}{x.dtype}",
    )


def inputs():
    return torch.ones(2), 42, 3.14159

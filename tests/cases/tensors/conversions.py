"""to, type_as, half, float and friends."""

import torch

GRAPHS = 1


def fn(x, y):
    return (
        x.to(torch.float64),
        x.to("cpu"),
        x.half().float(),
        x.long(),
        x.to(y),
        x.type_as(y),
        x.to(dtype=torch.bool),
        x.double() + y,
        x.int().dtype,
        x.bfloat16(),
    )


def inputs():
    return torch.randn(3) * 3, torch.randn(3, dtype=torch.float64)

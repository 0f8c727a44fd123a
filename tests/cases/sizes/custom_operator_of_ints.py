"""Ints that change are arguments of operators without a rule; what they decide is guarded."""

import torch

GRAPHS = 3


@torch.library.custom_op("ferrodyn_cases::repeated", mutates_args=())
def repeated(x: torch.Tensor, n: int) -> torch.Tensor:
    return torch.cat([x] * n) if n < 10 else x * n


@repeated.register_fake
def _(x, n):
    return x.new_empty(x.shape[0] * n) if n < 10 else torch.empty_like(x)


def fn(x, n):
    y = repeated(x, n)
    return y + 1, y.shape[0]


def calls():
    return [(torch.arange(3.0), n) for n in (3, 4, 5, 12, 7, 13)]

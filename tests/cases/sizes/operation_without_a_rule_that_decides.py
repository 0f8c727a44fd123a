"""What an operation without a rule decides by a size is guarded."""

import torch

GRAPHS = 3


@torch.library.custom_op("ferrodyn_cases::halves", mutates_args=())
def halves(x: torch.Tensor) -> torch.Tensor:
    return x[: x.shape[0] // 2].clone() if x.shape[0] > 5 else x.clone()


@halves.register_fake
def _(x):
    return x.new_empty(x.shape[0] // 2) if x.shape[0] > 5 else torch.empty_like(x)


def fn(x):
    y = halves(x)
    return y + 1, y.shape[0]


def calls():
    return [(torch.arange(float(n)),) for n in (6, 7, 9, 4, 3, 12)]

"""Operators that a program defines are nodes when their functions are called."""

import torch

GRAPHS = 1


@torch.library.custom_op("ferrodyn_cases::slope", mutates_args=())
def slope(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


@slope.register_fake
def _(x, by):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.by = inputs[1]


slope.register_autograd(lambda ctx, grad: (grad * ctx.by, None), setup_context=keep)


@torch.library.custom_op("ferrodyn_cases::grow", mutates_args=("x",))
def grow(x: torch.Tensor) -> None:
    x.add_(1)


def fn(x):
    y = slope(x * 2, by=3.0) + slope(x, 0.5)
    z = x.detach().clone()
    grow(z)
    return y, z


def inputs():
    return (torch.ones(3, requires_grad=True),)

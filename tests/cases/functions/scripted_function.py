"""A function under `torch.jit.script` is captured as the Python function that it was made of.

The numbers here are exact: the compiled one may round otherwise."""

import warnings

import torch

GRAPHS = 2

with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def swish(x, slope: float = 1.0):
        return x * torch.relu(x * slope)

    @torch.jit.script
    def scaled(x, n: int, by: float = 2.0):
        return torch.arange(n) * by + x


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return swish(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


def fn(x):
    y = swish(x, 0.5) + scaled(x, 3) + Swish.apply(x)
    return y, scaled(torch.ones(3), 3, 2), torch.onnx.is_in_onnx_export()


def inputs():
    return (torch.tensor([1.0, -2.0, 4.0], requires_grad=True),)

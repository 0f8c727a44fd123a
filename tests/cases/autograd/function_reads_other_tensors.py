"""Methods that read tensors from elsewhere, and values of `forward` that were not saved."""

import torch

GRAPHS = 1

factor = torch.tensor(2.0)
weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.cosine = x.cos()
        return x * factor * weight

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * factor * ctx.cosine * x * weight


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(x, y, n):
        return x * y, x > y, x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[0])
        ctx.n = inputs[2]

    @staticmethod
    def backward(ctx, product, _, same):
        x, made = ctx.saved_tensors
        other = product * x if ctx.needs_input_grad[1] else None
        return product * made + same * ctx.n, other, None


def fn(x):
    y = Scaled.apply(x.sin())
    product, bigger, same = Pair.apply(y, weight.detach(), 4.0)
    return product * 2, bigger, same, Scaled.apply(same), same.requires_grad, bigger.requires_grad


def inputs():
    return (torch.tensor([0.3, 0.5, 0.9], requires_grad=True),)

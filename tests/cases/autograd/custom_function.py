"""torch.autograd.Function with a backward of its own: one node of the graph."""

import torch

GRAPHS = 1


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.k * 10 + 0 * x, None


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad = grad.clone()
        grad[x < 0] = 0
        return grad


class Split(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y, (x > y).long(), x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx, product, _, same):
        x, y = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return product * y + same, product * x if needs[1] else None


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


def fn(x, y):
    a = Double.apply(x + 1, 3) * 2
    b = Clamp.apply(a - 4)
    p, bigger, same = Split.apply(b, y)
    with torch.no_grad():
        c = Rounded.apply(x)
    return (
        p,
        bigger,
        same,
        bigger.requires_grad,
        c.requires_grad,
        Rounded.apply(x * 3),
        p.requires_grad,
    )


def inputs():
    return (torch.randn(3, requires_grad=True), torch.randn(3))

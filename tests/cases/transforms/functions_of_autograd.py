"""`autograd.Function` and hooks inside transforms: nested, batched, forward mode."""

import torch
from torch.func import grad, jvp, vjp, vmap

GRAPHS = 1
SNAPSHOT = False


class Scaled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x.sin(), x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x.cos() + h * ctx.k * x, None


class Tangent(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp(), x > 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output[0])
        ctx.save_for_backward(output[0])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0] * 3, None


def loss(x):
    a, b = Scaled.apply(x, 3)
    return (a * b).sum()


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 3 + y)
    return (y * x).sum()


def removed(x):
    y = x * 2
    handle = y.register_hook(lambda g: g * 3)
    z = (y * x).sum()
    handle.remove()
    return z


def fn(x, w):
    once = grad(loss)(x)
    twice = grad(lambda x: grad(loss)(x).sum())(x)
    rows = vmap(grad(loss))(w)
    inside = grad(lambda w: vmap(lambda r: Scaled.apply(r, 2)[1])(w).sum())(w)
    made, back = vjp(lambda x: Tangent.apply(x)[0] * 2, x)
    (pulled,) = back(made)
    pushed = jvp(lambda x: Tangent.apply(x)[0], (x,), (x,))
    hooks = grad(hooked)(x), grad(lambda x: grad(hooked)(x).sum())(x), grad(removed)(x)
    return once * 2, twice, rows, inside, made, pulled, pushed, hooks


def inputs():
    return torch.linspace(0.5, 2, 4), torch.linspace(0, 1, 6).reshape(2, 3)

"""What custom functions give beside tensors: constants, sizes, tuples of them, None."""

import torch

SNAPSHOT = False
GRAPHS = 2  # sizes that change are one more
REFERENCE_WRONG = "torch.compile fails below AOTAutograd for mixed results"


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return None, x / 2, x.shape, "half", x > 1, x.shape[0]

    @staticmethod
    def backward(ctx, *gradients):
        (x,) = ctx.saved_tensors
        assert gradients[2] is None and gradients[5] is None
        return gradients[1] / 2 + x


class Reshaped(torch.autograd.Function):
    @staticmethod
    def forward(x, shape, factor=3):
        return x.reshape(shape) * factor, (shape, factor)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape
        ctx.factor = output[1][1]

    @staticmethod
    def backward(ctx, grad, _):
        return grad.reshape(ctx.shape) * ctx.factor, None, None


def fn(x):
    nothing, half, shape, text, above, rows = Halves.apply(x)
    flat, (given, factor) = Reshaped.apply(half, (-1,), 2)
    return (flat * rows).sum() + above.sum(), nothing, shape, text, rows, given, factor


def calls():
    return [(torch.randn(rows, 3, requires_grad=True),) for rows in (2, 4, 5)]

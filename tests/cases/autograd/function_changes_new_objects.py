"""`apply` with objects that the caller made, which `forward` or `backward` changes."""

import torch

BREAKS = ("Keeps with side effects", "Counts with side effects")


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kept):
        for _ in range(2):
            kept.append(x)
            x = x * 2
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 4, None


class Counts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, counts):
        ctx.counts = counts
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        ctx.counts["backward"] = ctx.counts.get("backward", 0) + 1
        return grad * 3, None


class Draws(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, numbers):
        return x * next(numbers)

    @staticmethod
    def backward(ctx, grad):
        return grad * 5, None


class Reads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sizes):
        ctx.sizes = sizes
        return x * len(sizes)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.sizes[0], None


def fn(x):
    kept, counts, numbers = [], {}, iter([5, 6])
    y = Keeps.apply(x, kept)
    z = Counts.apply(y, counts)
    w = Draws.apply(z, numbers)
    return Reads.apply(w, [2, 3]), kept, counts, list(numbers)


def inputs():
    return (torch.ones(3, requires_grad=True),)

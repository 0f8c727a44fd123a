"""What forward and backward of a torch.autograd.Function read is looked at anew when it changes."""

import torch

GRAPHS = 7

scale = 2.0
log = []


class Scaled(torch.autograd.Function):
    factor = 3

    @staticmethod
    def forward(ctx, x):
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        return grad * Scaled.factor * scale


class Logged(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        log.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        print("backward")
        return grad


class Passed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.add_(y)

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


def before(i):
    global scale
    if i == 1:
        scale = 5.0
    if i == 2:
        Scaled.factor = 7


def fn(x):
    y = Scaled.apply(x)
    z = Logged.apply(y)
    return y, z, Passed.apply(z + 1, y), len(log)


def calls():
    return [(torch.randn(3, requires_grad=True),) for _ in range(3)]

"""A tensor that the compiled function has made begins to record gradients."""

import torch

GRAPHS = 1
BACKWARD = False


def fn(x, w):
    weight = torch.zeros_like(x).requires_grad_()
    filled = torch.empty(3)
    filled[:] = 2.0
    filled.mul_(1.5).requires_grad = True
    with torch.no_grad():
        start = w * 2
    start.requires_grad_()
    passed = torch.ones(3, requires_grad=True)
    passed.requires_grad = False
    y = ((weight + x) * filled * start * w * passed).sum()
    a, b, c = torch.autograd.grad(y, [weight, filled, start], retain_graph=True)
    flags = [t.requires_grad for t in (weight, filled, start, passed)]
    leaves = [t.is_leaf for t in (weight, filled, start, passed)]
    return y, a, b, c, flags, leaves, weight, filled, start, passed


def inputs():
    return torch.randn(3), torch.randn(3, requires_grad=True)

"""Hooks of tensors that the function makes are registered behind the graph."""

import torch

GRAPHS = 1
seen = []


def halve(grad):
    return grad / 2


def fn(x, s):
    y = x.sin()
    y.register_hook(halve)
    z = y * s
    z.register_hook(lambda g: g * s + z.detach())
    w = z.exp()
    w.retain_grad()
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    return (w * y).sum(), w


def calls():
    return [(torch.linspace(0, 1, 3).requires_grad_(), 2.0) for _ in range(2)]

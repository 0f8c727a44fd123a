"""`.grad` written in the compiled function."""

import torch

GRAPHS = 1
BACKWARD = False


def fn(p, q):
    p.grad = torch.ones_like(p) * 2
    q.grad = None
    total = p.grad.sum()
    p.note = "seen"
    p.grad = p.grad + 1
    return total, q.grad, p.note, hasattr(q, "note")


def inputs():
    p, q = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    q.grad = torch.ones(2)
    return (p, q)

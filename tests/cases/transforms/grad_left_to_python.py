"""Transforms of functions that ask what holds inside, write or draw; raising is left to eager."""

import torch
from torch.func import grad, jacrev

GRAPHS = 1
# Guards of the Python of torch that is inlined are a thousand lines.
SNAPSHOT = False


def fn(x, b, seen):
    x = x * 2
    asked = grad(lambda y: (y * (2 if y.requires_grad else 3)).sum())(x)
    with torch.no_grad():
        off = grad(lambda y: (y * y).sum() * torch.is_grad_enabled())(x)
    kept, itself = grad(lambda y: ((y * 2).sum(), y), has_aux=True)(x)
    noisy = grad(lambda y: (torch.nn.functional.dropout(y) * torch.rand(3)).sum())(x)

    def writes(y, b):
        b.add_(1)
        seen.append(len(seen))
        return (y * b).sum()

    def writes_only(y, b):
        b.add_(1)
        return (y * b).sum()

    results = [grad(writes)(x, b), grad(writes_only)(x, b)]
    try:
        grad(lambda y: y * 2)(x)
    except RuntimeError as e:
        results.append(str(e))
    try:
        jacrev(lambda y: y.sum(), argnums=3)(x)
    except Exception as e:
        results.append(type(e).__name__)
    branch = grad(lambda y: (y * (2 if y.sum() > 0 else 3)).sum())(x)
    return asked, off, kept, itself is x, noisy, results, branch


def inputs():
    return torch.linspace(0, 1, 3), torch.zeros(3), []

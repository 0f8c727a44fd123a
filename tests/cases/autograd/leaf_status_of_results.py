"""Whether a tensor that the compiled function has computed is a leaf."""

import torch

GRAPHS = 1


def fn(x, w):
    made = torch.zeros(3, requires_grad=True)
    product = x * w
    written = torch.zeros(3)
    before = written.is_leaf
    written += w
    with torch.no_grad():
        unrecorded = w * 2
    parts = product.split(1)
    flags = [
        t.is_leaf
        for t in (made, product, written, unrecorded, unrecorded[0], product[0], x + 1, parts[0])
    ]
    flags += [product.detach().is_leaf, made.view(3).is_leaf, (x * 2).requires_grad_().is_leaf]
    return product, written, unrecorded, before, flags, made.grad_fn, (x + 1).grad_fn


def inputs():
    return torch.randn(3), torch.randn(3, requires_grad=True)

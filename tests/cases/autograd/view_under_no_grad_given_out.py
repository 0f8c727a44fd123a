"""A view of what requires gradients, made under no_grad and given out, has its own gradient."""

import torch

GRAPHS = 1
SNAPSHOT = False


def fn(w, x):
    with torch.no_grad():
        view = w.view(-1)
    doubled = w * 2
    return view, view.is_leaf, view.requires_grad, (view * x.view(-1)).sum(), doubled


def inputs():
    torch.manual_seed(0)
    return torch.randn(2, 2, requires_grad=True), torch.randn(2, 2)

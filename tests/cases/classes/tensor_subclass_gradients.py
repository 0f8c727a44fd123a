"""A class given to a tensor inside records gradients where autograd is on, and only there."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Named(torch.Tensor):
    pass


def fn(w, x):
    inner = (w * 2).as_subclass(Named)
    with torch.no_grad():
        kept = w.detach().as_subclass(Named)
        scaled = kept * 3
    plain = inner.as_subclass(torch.Tensor)
    again = inner.as_subclass(Named)
    made = torch.Tensor._make_subclass(Named, w)
    view = x.as_subclass(Named)
    view.add_(1)
    total = (inner * view + plain).sum()
    recorded = [t.requires_grad for t in (inner, kept, scaled, plain, again, made, view, total)]
    return inner, kept, scaled, plain, again, made, view, total, recorded, again is inner, x * 1


def inputs():
    torch.manual_seed(0)
    return torch.randn(3, requires_grad=True), torch.randn(3)

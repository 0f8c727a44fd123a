"""Under no_grad, a class given to a tensor that records gradients makes a leaf."""

import torch

GRAPHS = 1
SNAPSHOT = False


class Named(torch.Tensor):
    pass


def fn(w):
    with torch.no_grad():
        leaf = w.as_subclass(Named)
    return leaf, leaf.is_leaf, leaf.requires_grad, (leaf * 2).sum()


def inputs():
    torch.manual_seed(0)
    return (torch.randn(3, requires_grad=True),)

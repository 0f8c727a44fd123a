"""Tensors with tangents of forward mode keep them: compiled code would drop them."""

import torch
from torch.autograd import forward_ad

GRAPHS = 2
REFERENCE_GRAPHS = 1
SNAPSHOT = False
ALONE = True


def squared(x):
    return x * x + x.sin()


def along(x, tangent):
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(squared(forward_ad.make_dual(x, tangent))))


def fn(x):
    outside = squared(x)
    primal, tangent = along(x + 1, x * 5)
    return outside, primal, tangent, forward_ad._current_level


def inputs():
    return (torch.arange(3.0),)


def calls():
    return [inputs(), (torch.arange(3.0) - 1,)]

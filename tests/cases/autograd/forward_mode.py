"""A level of forward mode is in the graph, with what becomes of tangents in it."""

import torch
from torch.autograd import forward_ad

GRAPHS = 1
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
    written = torch.zeros(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, primal)
        written.add_(dual).mul_(2)
        inside = forward_ad.unpack_dual(written).tangent
        none = forward_ad.unpack_dual(x * 2).tangent
    behind = forward_ad.unpack_dual(dual * 3)
    return outside, primal, tangent, inside, none, tuple(behind), forward_ad._current_level


def inputs():
    return (torch.arange(3.0),)


def calls():
    return [inputs(), (torch.arange(3.0) - 1,)]

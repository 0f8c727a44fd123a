"""Levels of forward mode with a graph break inside, or that stay entered, are entered in eager."""

import torch
from torch.autograd import forward_ad

BREAKS = ["Data-dependent branching", "graph_break()"]
SNAPSHOT = False
ALONE = True


def doubled_if_large(x, tangent):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        if dual.sum() > 1:
            dual = dual * 2
        return forward_ad.unpack_dual(dual).tangent


def fn(x):
    y = x + 1
    level = forward_ad.enter_dual_level()
    dual = forward_ad.make_dual(y, x)
    torch._dynamo.graph_break()
    tangent = forward_ad.unpack_dual(dual.exp()).tangent
    forward_ad.exit_dual_level(level=level)
    return tangent + 1, doubled_if_large(y, x)


def inputs():
    return (torch.arange(3.0),)

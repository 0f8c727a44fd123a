"""Branches of `torch.cond` whose results differ in size: it is known when the graph runs."""

import torch

OPTIONS = {"capture_dynamic_output_shape_ops": True}
GRAPHS = 1
SNAPSHOT = False
ALONE = True


def fn(x):
    made = torch.cond(x.sum() > 0, lambda: torch.cat([x, x]), lambda: x.sin())
    return made * 2 + 1, made.shape[0] * x


def calls():
    return [(torch.ones(2, 3),), (-torch.ones(2, 3),)]

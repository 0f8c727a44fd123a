"""Sums of what two masks select: the graph checks that the sizes are equal."""

import torch

OPTIONS = {"capture_dynamic_output_shape_ops": True}
GRAPHS = 1


def fn(x, a, b):
    return x[a] + x[b], x[a] * torch.ones(2)


def calls():
    two, other, one = [True, False, True], [False, True, True], [False, False, True]
    pairs = ((two, other), (other, two), (two, one))
    return [(torch.randn(3), torch.tensor(a), torch.tensor(b)) for a, b in pairs]

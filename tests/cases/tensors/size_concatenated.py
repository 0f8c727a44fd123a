"""Sums and products of torch.Size and tuples."""

import torch

GRAPHS = 1


def fn(x):
    s = x.shape
    sums = (1,) + s, s + (1,), s * 2, 2 * s, s[1:], s + s, (1,) + s[:-1], type((1,) + s)
    return sums, x.new_zeros((2,) + s), torch.broadcast_shapes(s, (3,), (1,))


def inputs():
    return (torch.ones(4, 1),)

"""The size of rows that differ in length is no number: it is compared, and given to operations."""

import torch

# Rows of the same lengths or not, any lengths, any number of rows.
GRAPHS = 4
SNAPSHOT = False


def fn(x, y):
    n = x.size(1)
    heads = torch.sin(x).view(x.size(0), n, 2, 2)
    is_same = n == y.shape[1], x.shape == y.shape, y.size(1) in (n,)
    kinds = isinstance(n, int), isinstance(n, torch.SymInt), n >= 2, x.shape[0] + y.size(-1)
    if x.size(1) == y.size(1):
        return heads.values(), (x + y).values(), is_same, kinds
    return heads.values(), (x - 1).values(), is_same, kinds


def jagged(lengths, offsets=None):
    values = torch.arange(sum(lengths) * 4.0).view(-1, 4)
    offsets = torch.tensor([0, *lengths]).cumsum(0) if offsets is None else offsets
    return torch.nested.nested_tensor_from_jagged(values, offsets)


def pair(lengths, *, same):
    x = jagged(lengths)
    return x, jagged(lengths, x.offsets() if same else None)


def calls():
    ways = [((2, 3), True), ((2, 3), False), ((4, 3), True), ((4, 3, 5), False), ((4, 3, 5), True)]
    return [pair(lengths, same=same) for lengths, same in ways]

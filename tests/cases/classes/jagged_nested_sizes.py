"""A program reads the sizes of jagged nested tensors, one of which is no number."""

import torch

# A number of rows of its own, any number.
GRAPHS = 2
SNAPSHOT = False

weight = torch.arange(16.0).view(4, 4) / 8


def fn(x):
    count, rows, width = x.shape
    scaled = x * width + count
    heads = (scaled @ weight).view(x.size(0), rows, 2, width // 2).transpose(1, 2)
    back = heads.transpose(1, 2).reshape(count, x.shape[1], -1)
    kinds = isinstance(rows, int), isinstance(rows, torch.SymInt), len(x.shape), rows == count
    order = rows > 1, rows >= 2, 2 <= rows, rows < 1, rows <= rows
    return back.values(), x.shape[0] * 2, kinds, order, back.shape == x.shape, rows == x.size(1)


def jagged(*lengths):
    values = torch.arange(sum(lengths) * 4.0).view(-1, 4)
    return torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, *lengths]).cumsum(0))


def calls():
    lengths = [(2, 3), (4, 3), (4, 3, 5), (4, 3, 5, 7)]
    return [(jagged(*some),) for some in lengths]

"""Integer tensors without dimensions select as numbers do; others gather."""

import torch

GRAPHS = 1


def fn(x):
    one, two = torch.tensor(1), torch.tensor(2)
    row = x[one]
    item = x[1, two]
    column = x[:, two]
    rows = x[torch.tensor([1]), two]
    y = x.clone()
    y[one] = 0
    y[0, two] = 5
    return row, item.shape, column, rows, y, x[torch.tensor(-1)].shape, x[one:two]


def inputs():
    return [(torch.arange(12.0).reshape(3, 4),)]

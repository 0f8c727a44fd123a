"""A view by numbers that a size was made with: those that both sides share do not matter."""

import torch

SNAPSHOT = False
GRAPHS = 2


def fn(x, table, batch, heads, picked, length, block):
    rows = table.shape[0] * table.shape[1]
    gathered = x.new_ones(batch, heads, rows, block, x.shape[-1])
    return gathered.view(batch, heads, length // block - 2, picked * block, -1) * 2


def calls():
    # All numbers change, so all may be others; then only the batch does.
    first = torch.randn(2, 8), torch.zeros(4, 3), 2, 4, 3, 96, 16
    others = [
        (torch.randn(batch, 6), torch.zeros(6, 4), batch, 2, 4, 64, 8) for batch in (3, 4, 5, 7)
    ]
    return [first, *others]

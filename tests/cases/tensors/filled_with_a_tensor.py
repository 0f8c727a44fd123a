"""A tensor without dimensions as the number that another one is filled with: the graph reads it."""

import torch

SNAPSHOT = False
GRAPHS = 1


def fn(x, t, n):
    filled = torch.full(x.shape, t) + x
    named = torch.full((2,), fill_value=n, dtype=torch.float64)
    like = torch.full_like(x, x.sum()) + x.new_full((3,), t)
    return filled, named, like, torch.full((2,), n)


def calls():
    return [
        (torch.ones(2, 3), torch.tensor(2.5), torch.tensor(2)),
        (torch.zeros(2, 3), torch.tensor(-1.5), torch.tensor(7)),
    ]

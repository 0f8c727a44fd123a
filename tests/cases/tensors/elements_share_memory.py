"""Writes to tensors whose elements share memory, and views of inputs that share it."""

import torch

GRAPHS = 1


def expanded_inside(x):
    rows = x[None].expand(3, 4)
    rows.fill_(2)
    rows[:, 1] = 5
    rows.masked_fill_(torch.tensor([True, False, False, False]), 7)
    return rows.sum(), x + 1


def expanded_outside(x):
    x[torch.tensor([0, 1])] = 1.0
    return x.sum(), x + 1


def windows(x):
    x.unfold(0, 2, 1)[1:].zero_()
    return x + 1


def row_of_an_expanded_one(x):
    x[None].expand(3, 4)[1].add_(1)
    return x * 2


def one_of_views(x, y):
    last, rest = y[-1, 0], y[1:]
    x.add_(1)
    return last, rest, y.t()


def fn(x, wide, first, second):
    return (
        expanded_inside(x.clone()),
        expanded_outside(wide),
        windows(x.clone()),
        row_of_an_expanded_one(x.clone()),
        one_of_views(first, second),
    )


def calls():
    def made(start):
        base = torch.arange(20.0) + start
        wide = torch.arange(4.0)[None].expand(3, 4)
        return torch.ones(4) * start, wide, base[:12].view(3, 4), base[4:16].view(3, 4)

    return [made(1), made(5)]

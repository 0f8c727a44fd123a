"""What an operation raises for some values finds its handler behind one that must not run twice."""

import torch
import torch.nn.functional as F

GRAPHS = 8


def loss(x, y):
    try:
        return F.cross_entropy(F.dropout(x), y)
    except (RuntimeError, IndexError) as error:
        return type(error).__name__


def written(x, table, at):
    x.add_(1)
    try:
        rows = table[at] * 2
    except IndexError:
        rows = table * 3
    finally:
        x.mul_(2)
    return rows + x.sum()


def in_helper(x, table, at):
    y = F.dropout(x)

    def rows():
        return F.embedding(at, table)

    try:
        y = y.sum() + rows()
    except (RuntimeError, IndexError):
        y = y - 1
    return y


def fn(x, y, table):
    return loss(x, y), written(x, table, y), in_helper(x, table, y)


def calls():
    table = torch.arange(6.0).reshape(3, 2)
    for labels in [0, 1], [0, 2], [0, 7], [2, 1], [0, -9]:
        yield torch.ones(2, 3), torch.tensor(labels), table

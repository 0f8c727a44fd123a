"""A number where a tensor, or a number of the other type, was before is dynamic at once."""

import torch

GRAPHS = 5


def scaled(x, by):
    return x * by + 1


def fn(x, by, size):
    return scaled(x, by), x.repeat(size) if isinstance(size, int) else x + size


def calls():
    x = torch.ones(2)
    return [
        (x, 3, torch.ones(2)),
        (x, 2.5, torch.ones(2)),
        (x, 3.5, torch.ones(2)),
        (x, 3.5, 4),
        (x, 4.5, 5),
        (x, torch.ones(2), 6),
        (x, 7, 7),
        (x, 8, 7),
    ]

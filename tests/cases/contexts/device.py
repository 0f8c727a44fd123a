"""`with torch.device(...)`: factories make their tensors there, others do not look."""

import functools

import torch

GRAPHS = 1
BACKWARD = False

ones = functools.partial(torch.ones, 2)


def fn(x):
    with torch.device("meta") as entered:
        made = torch.ones(8), torch.tensor([1, 2]), torch.full((2,), 1.0, device=None), ones()
        told = torch.arange(3, device="cpu"), torch.zeros_like(x), x.new_ones(2)
        with torch.device("cpu"):
            inner = torch.rand(2)
        outer = torch.rand(2)
    try:
        with torch.device("meta"):
            raise ValueError("left")
    except ValueError:
        after = torch.ones(2)
    return entered, made, told, inner, outer, after, x + torch.ones(2)


def inputs():
    return (torch.randn(2),)

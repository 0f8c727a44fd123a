"""Functions that make tensors."""

import torch

GRAPHS = 1


def fn(x):
    return (
        torch.zeros(2, 3),
        torch.ones((2,), dtype=torch.int64),
        torch.full((2,), 3.5),
        torch.arange(1, 7, 2),
        torch.linspace(0, 1, 3),
        torch.eye(2),
        torch.zeros_like(x),
        x.new_ones(2),
        torch.empty(0),
        torch.tensor([1.0, 2.0]),
        torch.tensor(3),
        torch.full_like(x, 2),
        torch.arange(3, device=x.device),
        torch.as_tensor([1, 2]),
    )


def inputs():
    return (torch.randn(2),)

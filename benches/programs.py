"""The programs that the demonstration and the benchmark run."""

from __future__ import annotations

import torch
from models.plain import Block
from torch import nn


def toy_example(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A branch that depends on data: three graphs."""
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def plus_one(x: torch.Tensor) -> torch.Tensor:
    """The smallest program: what is left is the cost of a call."""
    return x + 1


def stack(blocks: int = 24, width: int = 64, heads: int = 4) -> nn.Module:
    """Return a stack of blocks."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block(width, heads) for _ in range(blocks)))

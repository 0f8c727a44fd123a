"""The programs that the demonstration and the benchmark run."""

from __future__ import annotations

import torch
import torch.nn.functional as F
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


class Block(nn.Module):
    """A transformer block: attention and a two-layer perceptron, each behind a LayerNorm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take and return a tensor of shape (batch, length, width)."""
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


def stack(blocks: int = 24, width: int = 64, heads: int = 4) -> nn.Module:
    """Return a stack of blocks."""
    torch.manual_seed(0)
    return nn.Sequential(*(Block(width, heads) for _ in range(blocks)))

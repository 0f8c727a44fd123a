"""Triton kernels, and functions that launch them."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def added(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = at < count
    tl.store(out + at, tl.load(x + at, mask=known) + tl.load(y + at, mask=known), mask=known)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=2)],
    key=["count"],
)
@triton.jit
def scaled(x, out, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count) * factor, mask=at < count)


@triton.heuristics({"BLOCK": lambda given: 64 if given["count"] < 2000 else 256})
@triton.jit
def copied(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count), mask=at < count)


@triton.autotune(
    configs=[triton.Config({"BLOCK": 64}, pre_hook=lambda given: None)],
    key=["count"],
)
@triton.jit
def hooked(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count), mask=at < count)


def between_operations(x: torch.Tensor, y: torch.Tensor) -> Any:
    out = torch.empty_like(x)
    added[(triton.cdiv(x.numel(), 256),)](x * 2, y, out, x.numel(), BLOCK=256)
    return out.relu() + 1


def with_choices(x: torch.Tensor, y: torch.Tensor) -> Any:
    out = torch.empty_like(x)

    def grid(given: dict[str, Any]) -> tuple[int, int]:
        return (triton.cdiv(x.numel(), given["BLOCK"]), 1)

    added[grid](x, y, out, x.numel(), BLOCK=128, num_warps=8)
    return out


def tuned(x: torch.Tensor, y: torch.Tensor) -> Any:
    out = torch.zeros_like(x)
    count = x.numel()
    scaled[lambda given: (triton.cdiv(count, given["BLOCK"]),)](x, out, count, 2.5)
    return out + y


def by_heuristics(x: torch.Tensor, y: torch.Tensor) -> Any:
    out = torch.zeros_like(x)
    copied[lambda given: (triton.cdiv(x.numel(), given["BLOCK"]),)](x, out, x.numel())
    return out * y


def into_an_argument(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = y.sum()
    added[(triton.cdiv(x.numel(), 64),)](x, x, y, x.numel(), BLOCK=64)
    return before, y.sum()


def twice(x: torch.Tensor, y: torch.Tensor) -> Any:
    out = torch.empty_like(x)
    for _ in range(2):
        added[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
        x = out * 2
    return x


#: Functions of two vectors that are one graph.
WHOLE = (between_operations, with_choices, tuned, by_heuristics, into_an_argument, twice)


def with_hook(x: torch.Tensor) -> Any:
    out = torch.zeros_like(x)
    hooked[(triton.cdiv(x.numel(), 64),)](x * 2, out, x.numel())
    return out


def compiled_only(x: torch.Tensor) -> Any:
    out = torch.zeros_like(x)
    added.warmup(x, x, out, x.numel(), BLOCK=64, grid=(1,))
    return out

"""Annotations of a function made in the compiled function: aliases of every kind."""

from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch

GRAPHS = 1


def fn(x):
    def inner(f: Callable[[Any, int], Any], n: Optional[int], k: list[int] | None) -> Iterable[int]:
        return f(x, n)

    return inner(torch.add, 2, None)


def inputs():
    return (torch.ones(2),)

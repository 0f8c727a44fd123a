"""A graph that runs as it is may hold a tensor in place of a number. No program can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrodyn
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

NUMBERS = [0, -1, 0.1, -0.0, 1e-40, 1e39, float("inf"), float("nan"), 2**24 + 1, 2**53 + 1, True]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


def bits(x: torch.Tensor) -> list[int]:
    """Return the bytes of a tensor."""
    return x.reshape(-1).contiguous().view(torch.uint8).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,)], ids=str)
def test_results_are_equal_to_the_bit(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    """Each operator with each number."""
    x = torch.tensor([0.3, -7.0, 1.0]).to(dtype)
    x = x[0].clone() if shape == () else x
    for number in NUMBERS:

        def fn(x: torch.Tensor, number: Any = number) -> list[torch.Tensor]:
            found = [x + number, x * number, x == number, x != number]
            if x.dtype is not torch.bool:
                found.append(x - number)
            if not x.is_complex():
                found += [x / 3, x < number, x <= number, x > number, x >= number]
            return found

        try:
            wanted = fn(x)
        except (RuntimeError, OverflowError):
            continue
        got = ferrodyn.compile(fn, backend="eager")(x)
        assert [y.dtype for y in got] == [y.dtype for y in wanted]
        assert [bits(y) for y in got] == [bits(y) for y in wanted]


class Operations(TorchDispatchMode):
    """Remembers the operations and their arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Remember an operation, and run it."""
        self.seen.append((func, [a if isinstance(a, (int, float)) else type(a) for a in args]))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Remembers the functions and their arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Remember a function, and run it."""
        self.seen.append([a if isinstance(a, (int, float)) else type(a) for a in args])
        return func(*args, **(kwargs or {}))


def double(x: torch.Tensor) -> torch.Tensor:
    """Two operations with numbers."""
    return (x + 1) * 0.5


@pytest.mark.parametrize("mode", [Operations, Functions])
@pytest.mark.parametrize("first", ["inside", "outside"])
def test_modes_see_the_numbers(mode: Callable[[], Any], first: str) -> None:
    """Whether the function was compiled under the mode or before."""
    x = torch.randn(3)
    with mode() as eager:
        double(x)
    compiled = ferrodyn.compile(double, backend="eager")
    if first == "outside":
        compiled(x)
    with mode() as seen:
        compiled(x)
    assert seen.seen == eager.seen


def test_a_number_is_not_flushed_for_good() -> None:
    """A thread that flushes small numbers to zero compiles; then it does so no more."""

    def tiny(x: torch.Tensor) -> torch.Tensor:
        return x * 1e-42

    x = torch.ones(3)
    compiled = ferrodyn.compile(tiny, backend="eager")
    try:
        torch.set_flush_denormal(True)
        assert torch.equal(compiled(x), tiny(x))
    finally:
        torch.set_flush_denormal(False)
    assert torch.equal(compiled(x), tiny(x))

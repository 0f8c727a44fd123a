"""Measures calls of several functions in one run, interleaved, on a machine that is not quiet.

Used by the demonstration and by the benchmark of the whole pipeline.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def per_call(
    functions: dict[str, Callable[[], Any]], rounds: int = 25, slice_seconds: float = 0.004
) -> dict[str, float]:
    """Return the median seconds of one call of each function.

    The functions take turns, one slice of about `slice_seconds` each, so that a busy moment of
    the machine does not fall on one of them alone. The cost of the loop is taken off.
    """
    counts = {}
    for name, fn in functions.items():
        fn()
        start = time.perf_counter()
        for _ in range(5):
            fn()
        once = (time.perf_counter() - start) / 5
        counts[name] = max(1, int(slice_seconds / max(once, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, fn in functions.items():
            times[name].append(_slice(fn, counts[name]) - _slice(_nothing, counts[name]))
    return {name: max(statistics.median(values), 0.0) for name, values in times.items()}


def difference(one: Callable[[], Any], other: Callable[[], Any], rounds: int = 60) -> float:
    """Return the median of how many seconds longer a call of `one` takes than of `other`."""
    count = 2000
    values = []
    for turn in range(rounds):
        first, second = (one, other) if turn % 2 else (other, one)
        a, b = _slice(first, count), _slice(second, count)
        values.append(a - b if turn % 2 else b - a)
    return statistics.median(values)


def first_calls(
    compile: Callable[[], Callable[[], Any]], reset: Callable[[], Any], warm: int = 3
) -> tuple[float, float]:
    """Return the seconds of a first call: cold, and the median of `warm` more after a reset."""
    times = []
    for _ in range(warm + 1):
        reset()
        call = compile()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times[0], statistics.median(times[1:])


def _nothing() -> None:
    pass


def _slice(fn: Callable[[], Any], count: int) -> float:
    repeat = range(count)
    start = time.perf_counter()
    for _ in repeat:
        fn()
    return (time.perf_counter() - start) / count


def duration(seconds: float) -> str:
    """Return `seconds` as text with a fitting unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"

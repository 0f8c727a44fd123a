"""Ferrodyn beside torch.compile, in one process: `python benches/compare.py [filter]`.

Both get the same no-op backend. Every figure is a ratio or a difference of interleaved slices: its
median, and in brackets the quartiles.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import ferrodyn
import torch
from measure import duration
from programs import plus_one, stack, toy_example
from rich.console import Console
from rich.table import Table

Call = Callable[[], Any]


def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    """Run the graph as it is: what is measured is the capture."""
    return graph.forward


def empty(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    """Run nothing: what is left of a call is what it costs to reach the graph."""
    outputs = next(node for node in reversed(graph.graph.nodes) if node.op == "output").args[0]
    result = tuple(node.meta.get("example_value") for node in outputs)
    if any(not isinstance(value, torch.Tensor) for value in result):
        result = (inputs[0],) * len(outputs)
    return lambda *args: result


def spread(values: list[float], text: Callable[[float], str]) -> str:
    """Return the median and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{text(middle)} [{text(low)} .. {text(high)}]"


def times(text: float) -> str:
    """Return a ratio as text."""
    return f"{text:.3g}x"


def slices(
    calls: dict[str, Call], rounds: int = 40, seconds: float = 0.004
) -> dict[str, list[float]]:
    """Return the seconds of one call in each slice; the calls take turns."""
    counts = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        for _ in range(5):
            call()
        counts[name] = max(1, int(seconds * 5 / max(time.perf_counter() - start, 1e-9)))
    measured: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            repeat = range(counts[name])
            start = time.perf_counter()
            for _ in repeat:
                call()
            measured[name].append((time.perf_counter() - start) / counts[name])
    return measured


def first(compile: Callable[[], Call], reset: Call) -> float:
    """Return the seconds of a first call."""
    reset()
    call = compile()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def firsts(fn: Any, args: tuple[Any, ...], rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds of first calls after a reset of ferrodyn and of torch, in turns."""

    def ours() -> Call:
        compiled = ferrodyn.compile(fn, backend=backend)
        return lambda: compiled(*args)

    def theirs() -> Call:
        compiled = torch.compile(fn, backend=backend, dynamic=False)
        return lambda: compiled(*args)

    first(ours, ferrodyn.reset)
    first(theirs, torch._dynamo.reset)
    pairs = [
        (first(ours, ferrodyn.reset), first(theirs, torch._dynamo.reset)) for _ in range(rounds)
    ]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def compare(name: str, fn: Any, args: tuple[Any, ...], table: Table) -> None:
    """Measure one program and add its row."""
    rounds = 4 if isinstance(fn, torch.nn.Module) else 12
    ours, theirs = firsts(fn, args, rounds)
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    ferrodyn.reset()
    torch._dynamo.reset()
    compiled = ferrodyn.compile(fn, backend=backend)
    reference = torch.compile(fn, backend=backend, dynamic=False)
    calls = slices(
        {
            "eager": lambda: fn(*args),
            "ours": lambda: compiled(*args),
            "theirs": lambda: reference(*args),
        }
    )
    against = [a / b for a, b in zip(calls["ours"], calls["eager"], strict=True)]
    torch_against = [a / b for a, b in zip(calls["theirs"], calls["eager"], strict=True)]
    row = [
        duration(statistics.median(ours)),
        spread(ratios, times),
        spread(against, times),
        spread(torch_against, times),
    ]
    if not isinstance(fn, torch.nn.Module) and fn is not plus_one:
        row += ["", ""]
    else:
        ferrodyn.reset()
        torch._dynamo.reset()
        reach = ferrodyn.compile(fn, backend=empty)
        torch_reach = torch.compile(fn, backend=empty, dynamic=False)
        left = slices({"ours": lambda: reach(*args), "theirs": lambda: torch_reach(*args)})
        row += [spread(left["ours"], duration), spread(left["theirs"], duration)]
    table.add_row(name, *row)


def main(wanted: str) -> None:
    """Run all programs whose name contains `wanted`."""
    import torch._dynamo  # Its import is no part of a first call.

    table = Table(
        "program",
        "first call",
        "torch's / ours",
        "call / eager",
        "torch's call / eager",
        "call without its graph",
        "torch's",
        title=f"Python {sys.version.split()[0]}, torch {torch.__version__}, same no-op backend",
    )
    x, b = torch.randn(10), torch.rand(10)
    tokens = torch.randn(1, 8, 64)
    programs: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "plus_one": (plus_one, (x,)),
        "toy_example": (toy_example, (x, b)),
        "stack_4": (stack(4), (tokens,)),
        "stack_24": (stack(24), (tokens,)),
        "stack_96": (stack(96), (tokens,)),
    }
    torch.set_num_threads(1)  # Idle workers of a busy machine would be measured instead.
    with torch.no_grad():
        for name, (fn, args) in programs.items():
            if wanted in name:
                compare(name, fn, args, table)
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")

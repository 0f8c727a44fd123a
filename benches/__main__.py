"""Benchmark of the whole pipeline against eager and torch.compile: `python benches [filter]`.

`--json FILE` writes the times of ferrodyn in nanoseconds, by name.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import ferrodyn
import torch
from measure import difference, duration, first_calls, per_call
from programs import plus_one, stack, toy_example
from rich.console import Console
from rich.table import Table


def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    """Run the graph as it is: what is measured is the capture."""
    return graph.forward


def compare(
    name: str, fn: Any, args: tuple[Any, ...], tables: tuple[Table, Table]
) -> dict[str, float]:
    """Measure one program, add a row to the table of first calls and to that of calls.

    Return ferrodyn's seconds by what was measured.
    """
    ours = ferrodyn.compile(fn, backend=backend)
    theirs = torch.compile(fn, backend=backend, dynamic=False)

    cold, warm = first_calls(lambda: lambda: ours(*args), ferrodyn.reset)
    torch_cold, torch_warm = first_calls(lambda: lambda: theirs(*args), torch._dynamo.reset)
    tables[0].add_row(
        name, *map(duration, (cold, warm, torch_cold, torch_warm)), f"{torch_warm / warm:.1f}x"
    )
    times = per_call(
        {
            "eager": lambda: fn(*args),
            "ferrodyn": lambda: ours(*args),
            "torch": lambda: theirs(*args),
        }
    )
    tables[1].add_row(name, *map(duration, times.values()))
    return {f"{name}: first call": warm, f"{name}: call": times["ferrodyn"]}


def main() -> None:
    """Run all programs whose name contains what was asked for."""
    import torch._dynamo  # Its import is no part of a first call.

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", nargs="?", default="", help="only programs with this in the name")
    parser.add_argument("--json", type=Path, help="where to write the times")
    options = parser.parse_args()
    wanted, seconds = options.wanted, dict[str, float]()

    first = Table("program", "ferrodyn, cold", "warm", "torch, cold", "warm", "warm ratio")
    first.title = "first call, same no-op backend (warm: compiled again after reset)"
    calls = Table("program", "eager", "ferrodyn", "torch.compile", title="per call")
    x, b = torch.randn(10), torch.rand(10)
    programs: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "plus_one": (plus_one, (x,)),
        "toy_example": (toy_example, (x, b)),
        "stack_4": (stack(4), (torch.randn(1, 8, 64),)),
        "stack_24": (stack(24), (torch.randn(1, 8, 64),)),
        "stack_96": (stack(96), (torch.randn(1, 8, 64),)),
    }
    for name, (fn, args) in programs.items():
        if wanted in name:
            seconds |= compare(name, fn, args, (first, calls))
    console = Console()
    console.print(first)
    console.print(calls)
    if wanted in "overhead":
        graphs = []

        def keep(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
            graphs.append(graph)
            return graph.forward

        compiled = ferrodyn.compile(plus_one, backend=keep)
        compiled(x)
        # Its own function, and not the lazy module's wrapper around it.
        graphs[0](x)
        graph = graphs[0].forward
        extra = difference(lambda: compiled(x), lambda: graph(x))
        console.print(f"x + 1, compiled, over its graph called directly: {duration(extra)}")
        seconds["plus_one: over its graph"] = extra
    if options.json:
        figures = {name: value * 1e9 for name, value in seconds.items()}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

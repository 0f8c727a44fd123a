"""The demonstration: `cargo xtask demo`.

Runs the toy example and a stack of transformer blocks, shows what became of them, compares
every output with eager, and measures. Exits with 1 if an output was wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches"))

import ferrodyn
import show
import torch
from measure import difference, duration, first_calls, per_call
from programs import plus_one, stack, toy_example
from rich.table import Table

CALLS = 100
EXPECTED_GRAPHS = 3


class Checks:
    """Compares outputs with eager's, and remembers what was wrong."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.compared = 0

    def equal(self, what: str, found: torch.Tensor, expected: torch.Tensor) -> None:
        """Note whether two tensors are equal to the bit."""
        self.compared += 1
        if not (found.dtype == expected.dtype and torch.equal(found, expected)):
            self.wrong.append(f"{what}: output differs from eager")

    def that(self, what: str, holds: bool) -> None:
        """Note whether something holds."""
        if not holds:
            self.wrong.append(what)


def run_toy_example(checks: Checks) -> None:
    """100 calls with fresh random inputs, under a backend that prints its graphs."""
    show.title("toy_example: a branch that depends on data")
    show.source(toy_example)
    graphs: list[torch.fx.GraphModule] = []

    def my_compiler(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        print("my_compiler() called with FX graph:", flush=True)
        gm.graph.print_tabular()
        print(flush=True)
        graphs.append(gm)
        return gm.forward  # a Python callable

    compiled = ferrodyn.optimize(my_compiler)(toy_example)
    torch.manual_seed(0)
    with show.collected("guards", "bytecode", "graph_breaks") as records:
        for call in range(CALLS):
            a, b = torch.randn(10), torch.randn(10)
            expected = toy_example(a.clone(), b.clone())
            checks.equal(f"toy_example, call {call + 1}", compiled(a, b), expected)
    checks.that(
        f"toy_example: {len(graphs)} graphs, not {EXPECTED_GRAPHS}",
        len(graphs) == EXPECTED_GRAPHS,
    )
    show.records(records)
    print(f"{CALLS} calls, {len(graphs)} graphs, no recompilation once both branches were seen.")


def run_stack(checks: Checks, blocks: int) -> None:
    """A stack of transformer blocks: one graph, forward and backward equal to eager's."""
    show.title(f"{blocks} transformer blocks, written with torch.nn")
    graphs: list[torch.fx.GraphModule] = []

    def keep(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(gm)
        return gm.forward

    model = stack(blocks)
    compiled = ferrodyn.compile(model, backend=keep)
    with show.collected("graph", "guards", "bytecode", "graph_breaks") as records:
        for call in range(3):
            x = torch.randn(2, 8, 64)
            checks.equal(f"stack, call {call + 1}", compiled(x), model(x))
    show.records(records, lines=24)
    x = torch.randn(2, 8, 64)
    compiled(x).square().mean().backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(x).square().mean().backward()
    for (name, parameter), gradient in zip(model.named_parameters(), found, strict=True):
        checks.equal(f"stack, gradient of {name}", gradient, parameter.grad)
    ops = sum(node.op.startswith("call_") for graph in graphs for node in graph.graph.nodes)
    checks.that(f"stack: {len(graphs)} graphs, not 1", len(graphs) == 1)
    print(f"{len(graphs)} graph, {ops} operations, {len(found)} gradients compared.")


def no_op(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
    """Run the graph as it is: what is measured is the capture."""
    return gm.forward


def compare(name: str, fn: Any, args: tuple[Any, ...], first: Table, calls: Table) -> None:
    """Measure one program, and add a row to the table of first calls and to that of calls."""
    ours = ferrodyn.compile(fn, backend=no_op)
    theirs = torch.compile(fn, backend=no_op, dynamic=False)
    mine = first_calls(lambda: lambda: ours(*args), ferrodyn.reset)
    torchs = first_calls(lambda: lambda: theirs(*args), torch._dynamo.reset)
    ratio = f"{torchs[1] / mine[1]:.1f}x"
    first.add_row(name, *map(duration, (*mine, *torchs)), ratio)
    times = per_call(
        {
            "eager": lambda: fn(*args),
            "ferrodyn": lambda: ours(*args),
            "torch": lambda: theirs(*args),
        }
    )
    calls.add_row(name, *map(duration, times.values()))


def overhead(compile: Any, x: torch.Tensor) -> float:
    """Return how many seconds longer a compiled `x + 1` takes than its graph."""
    graphs: list[Any] = []

    def keep(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Any:
        graphs.append(gm)
        return gm.forward

    compiled = compile(plus_one, backend=keep)
    compiled(x)
    # Once the module's code is generated its own `forward` is the function itself; until then it
    # goes through the lazy module's wrapper.
    graphs[0](x)
    graph = graphs[0].forward
    return difference(lambda: compiled(x), lambda: graph(x))


def measure(blocks: int) -> None:
    """The table of times: all measured now, with the same backend that does nothing."""
    import torch._dynamo  # Its import is no part of a first call.

    show.title("times, measured in this run")
    first = Table(
        "program",
        "ferrodyn",
        "warm",
        "torch",
        "warm",
        "warm ratio",
        title="first call (warm: compiled again after reset)",
    )
    calls = Table(
        "program", "eager", "ferrodyn", "torch.compile", title="per call (interleaved medians)"
    )
    a, b, x = torch.randn(10), torch.rand(10), torch.randn(1, 8, 64)
    compare("x + 1", plus_one, (a,), first, calls)
    compare("toy_example", toy_example, (a, b), first, calls)
    compare(f"{blocks} blocks", stack(blocks), (x,), first, calls)
    costs = Table(
        "", "over its graph called directly", title="x + 1, compiled: what a call costs on top"
    )
    costs.add_row("ferrodyn", duration(overhead(ferrodyn.compile, a)))
    costs.add_row("torch.compile", duration(overhead(torch.compile, a)))
    for table in (first, calls, costs):
        show.table(table)


def main() -> int:
    """Run everything; return the exit status."""
    parser = argparse.ArgumentParser(description="Show what Ferrodyn does.")
    parser.add_argument("--blocks", type=int, default=24, help="transformer blocks in the stack")
    parser.add_argument("--no-times", action="store_true", help="only show and compare")
    options = parser.parse_args()
    checks = Checks()
    run_toy_example(checks)
    run_stack(checks, options.blocks)
    if not options.no_times:
        measure(options.blocks)
    if checks.wrong:
        print("\nWRONG:")
        for what in checks.wrong:
            print(f"  {what}")
        return 1
    print(f"\nAll {checks.compared} outputs equal eager's.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

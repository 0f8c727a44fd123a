"""`explain`: what became of a function, without a backend.

The native module keeps the records; this makes them readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from . import _core
from ._api import decorator
from ._context import CompileOptions


@dataclass(frozen=True)
class BreakReason:
    """Why a graph ended before the function did."""

    #: What could not be captured, in one line.
    reason: str
    #: The user's frames from the outermost in, as ``File "...", line N, in name``.
    user_stack: list[str] = field(default_factory=list)
    #: Why, in a sentence or two.
    explanation: str = ""
    #: What the user can do about it.
    hints: list[str] = field(default_factory=list)
    #: Values that help a developer of Ferrodyn.
    context: str = ""


@dataclass
class ExplainOutput:
    """What :func:`explain` found; ``print`` it."""

    #: The graphs, in the order in which they were captured.
    graphs: list[torch.fx.GraphModule]
    #: ``len(graphs)``.
    graph_count: int
    #: How often a graph ended before its function did.
    graph_break_count: int
    #: One entry for each of those.
    break_reasons: list[BreakReason]
    #: Operations in all graphs together.
    op_count: int
    #: The targets of the operations of each graph.
    ops_per_graph: list[list[Any]]
    #: The guards, as text, of every region compiled.
    out_guards: list[str]
    #: Seconds by phase.
    compile_times: dict[str, float]
    #: Guards for which compiled code could not be reused, as Python, and how often each failed.
    guard_failures: dict[str, int]
    #: How many instructions were interpreted, by name.
    instruction_counts: dict[str, int]
    #: How often torch's fake tensors were asked what an operation returns, by operation.
    fake_tensor_ops: dict[str, int]

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
            "Break Reasons:",
        ]
        for number, reason in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {reason.reason}"]
            lines += ["    User Stack:", *(f"      {frame}" for frame in reason.user_stack)]
        lines.append("Ops per Graph:")
        for number, ops in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {number}:", *(f"    {op}" for op in ops)]
        lines.append("Out Guards:")
        for number, guard in enumerate(self.out_guards, 1):
            lines += [f"  Guard {number}:", *(f"    {line}" for line in guard.splitlines())]
        if self.guard_failures:
            lines.append("Guard Failures:")
        lines += [
            f"  {count} x {guard}"
            for guard, count in sorted(self.guard_failures.items(), key=lambda item: -item[1])
        ]
        lines.append("Compile Times (s):")
        lines += [f"  {name}: {seconds:.6f}" for name, seconds in self.compile_times.items()]
        lines.append(f"Instructions: {self.instruction_counts.get('instructions', 0)}")
        lines.append(f"Fake Tensors Asked: {sum(self.fake_tensor_ops.values())}")
        lines += [
            f"  {name}: {count}"
            for name, count in sorted(self.fake_tensor_ops.items(), key=lambda item: -item[1])
        ]
        return "\n".join(lines)


def explain(fn: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """Return a function that runs ``fn`` once, captured anew, and says what happened.

    ``print(ferrodyn.explain(fn)(*args))`` shows the graphs' operations, each break with its
    reason and stack, and the guards. Compiled code that exists stays as it is.
    """

    def run(*args: Any, **kwargs: Any) -> ExplainOutput:
        graphs: list[torch.fx.GraphModule] = []

        def collect(graph: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
            graphs.append(graph)
            return graph.forward

        target: Any = fn
        while _core.is_entry(target):
            target = target.__wrapped__
        compiled = decorator(CompileOptions(backend=collect))(target)
        _core.explain_begin()
        try:
            compiled(*args, **kwargs)
        finally:
            record = _core.explain_end()
        return _output(graphs, record)

    return run


def _output(graphs: list[torch.fx.GraphModule], record: Mapping[str, Any]) -> ExplainOutput:
    """Put the graphs and the native module's record together."""
    ops = [
        [node.target for node in graph.graph.nodes if node.op.startswith("call_")]
        for graph in graphs
    ]
    reasons = [BreakReason(**reason) for reason in record.get("break_reasons", ())]
    return ExplainOutput(
        graphs=graphs,
        graph_count=len(graphs),
        graph_break_count=len(reasons),
        break_reasons=reasons,
        op_count=sum(map(len, ops)),
        ops_per_graph=ops,
        out_guards=list(record.get("out_guards", ())),
        guard_failures=dict(record.get("guard_failures", {})),
        compile_times=dict(record.get("compile_times", {})),
        instruction_counts=dict(record.get("instruction_counts", {})),
        fake_tensor_ops=dict(record.get("fake_tensor_ops", {})),
    )

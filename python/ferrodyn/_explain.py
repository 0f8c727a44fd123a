"""`explain`: what became of a function, without a backend.

The native module keeps the records; this makes them readable. Does not live here: pages
(`_pages`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from . import _core
from ._api import decorator
from ._context import CompileOptions

#: A frame of a stack, as the native module writes it.
_FRAME = r'File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)'
#: A guard in a tree: its kind, what it says, and the line of the program that asked for it.
_GUARD = r"\+- (?P<kind>[A-Z_]+): (?P<says>.*?)(?:\s+# (?P<why>.*))?$"
#: Kinds of guards that hold a value, or a type, to the one that was seen.
_SPECIALISING = ("EQUALS_MATCH", "CONSTANT_MATCH", "NONE_MATCH", "TRUE_MATCH", "FALSE_MATCH")
#: How many lines of the program are shown above and below one.
_AROUND = 2


@dataclass(frozen=True)
class Place:
    """A line of the user's program."""

    file: str
    line: int
    function: str

    def source(self) -> list[tuple[int, str]]:
        """Return the lines around it, with their numbers; none where the file cannot be read."""
        import linecache

        numbers = range(max(1, self.line - _AROUND), self.line + _AROUND + 1)
        found = [(number, linecache.getline(self.file, number).rstrip()) for number in numbers]
        while found and not found[-1][1]:
            found.pop()
        return found

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


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

    def places(self) -> list[Place]:
        """Return where it happened: the innermost frame first, then those that called it."""
        found = [re.match(_FRAME, frame) for frame in reversed(self.user_stack)]
        own = os.path.dirname(__file__) + os.sep
        places = [Place(m["file"], int(m["line"]), m["function"]) for m in found if m]
        return [place for place in places if not place.file.startswith(own)]


@dataclass(frozen=True)
class Guard:
    """A check that decides whether compiled code may be used."""

    #: torch's name of its kind: ``TENSOR_MATCH``.
    kind: str
    #: What it checks, as Python.
    says: str
    #: The line of the program that asked for it, and where that is.
    why: str


def guards_of(tree: str) -> list[Guard]:
    """Return the guards in the text of a tree."""
    found = [re.search(_GUARD, line) for line in tree.splitlines()]
    return [Guard(m["kind"], m["says"], m["why"] or "") for m in found if m]


@dataclass(frozen=True)
class Graph:
    """A graph, as text."""

    name: str
    #: How many operations it has.
    operations: int
    #: It as Python.
    code: str
    #: It as a drawing, in Graphviz's language.
    dot: str


@dataclass(frozen=True)
class Compilation:
    """One compilation of one function."""

    #: Which function, and how often it was compiled before: ``0/1``.
    id: str
    function: str
    file: str
    line: int
    #: When it began, in seconds since 1970.
    started: float
    #: Seconds by stage.
    seconds: dict[str, float]
    #: How many instructions were interpreted.
    instructions: int
    graphs: list[Graph]
    #: The graph breaks in it.
    breaks: list[BreakReason]
    #: Its guards, as a tree.
    guards: str
    #: The code before and after.
    bytecode: str
    #: Why code that was there could not be used, with the value that changed.
    recompile_reasons: list[str]
    #: ``compiled``, ``eager`` this time, ``skipped`` from now on, or an exception.
    outcome: str

    @property
    def place(self) -> Place:
        return Place(self.file, self.line, self.function)

    @property
    def spent(self) -> float:
        """How many seconds it took; those of the tracing alone where it did not come to an end."""
        return self.seconds.get("total", self.seconds.get("tracing", 0.0))

    def guards_by_kind(self) -> str:
        """Return how many guards of each kind there are, the most first."""
        kinds = Counter(guard.kind for guard in guards_of(self.guards))
        return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


@dataclass
class ExplainOutput:
    """What :func:`explain` found; ``print`` it, or show it in a notebook."""

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
    #: What was compiled, in the order in which it began.
    compilations: list[Compilation] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([*self._summary(), *text_of(self.compilations, self.break_reasons)])

    def _repr_html_(self) -> str:
        from . import _pages

        return _pages.notebook(self.compilations, self.break_reasons)

    def _summary(self) -> list[str]:
        lines = [
            f"Graph Count: {self.graph_count}",
            f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}",
        ]
        if self.guard_failures:
            lines.append("Guard Failures:")
            by_count = sorted(self.guard_failures.items(), key=lambda item: -item[1])
            lines += [f"  {count} x {guard}" for guard, count in by_count]
        if asked := sum(self.fake_tensor_ops.values()):
            lines.append(f"Fake Tensors Asked: {asked}")
            by_count = sorted(self.fake_tensor_ops.items(), key=lambda item: -item[1])
            lines += [f"  {name}: {count}" for name, count in by_count]
        return lines


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def text_of(compilations: list[Compilation], breaks: list[BreakReason]) -> list[str]:
    """Return lines for a terminal: breaks first, which is what is looked for most."""
    lines: list[str] = []
    for number, reason in enumerate(breaks, 1):
        lines += ["", f"Break Reason {number}: {reason.reason}", *_break_text(reason)]
    for compilation in compilations:
        lines += ["", *_compilation_text(compilation)]
    lines += ["", *_time_text(compilations)]
    return lines


def _break_text(reason: BreakReason) -> list[str]:
    lines = []
    for depth, place in enumerate(reason.places()):
        lines.append(f"  {'at' if depth == 0 else 'called from'} {place}")
        if depth == 0:
            lines += [
                f"    {'>' if number == place.line else ' '} {number:4} | {text}"
                for number, text in place.source()
            ]
    if reason.explanation:
        lines.append(f"  Why: {reason.explanation}")
    lines += [f"  What to change: {hint}" for hint in reason.hints]
    return lines


def specialised(compilation: Compilation) -> list[Guard]:
    """Return the guards that hold a value to the one that was seen."""
    return [guard for guard in guards_of(compilation.guards) if guard.kind in _SPECIALISING]


def _compilation_text(compilation: Compilation) -> list[str]:
    total = compilation.seconds.get("total", 0.0)
    head = f"[{compilation.id}] {compilation.place}: {compilation.outcome}"
    lines = [f"{head}, {_milliseconds(total)}" if total else head]
    lines += [f"  Recompiled because {reason}" for reason in compilation.recompile_reasons]
    for graph in compilation.graphs:
        lines.append(f"  Graph {graph.name}, {graph.operations} operations:")
        lines += [f"    {line}" for line in graph.code.strip().splitlines()]
    if counts := compilation.guards_by_kind():
        lines.append(f"  Guards: {counts}")
    if values := specialised(compilation):
        lines.append("  Specialised:")
        lines += [f"    {guard.says}  # {guard.why}" for guard in values]
    return lines


def times(compilations: list[Compilation]) -> tuple[dict[str, float], dict[str, float]]:
    """Return seconds by stage, and by function."""
    stages: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for compilation in compilations:
        stages.update(compilation.seconds)
        functions[str(compilation.place)] += compilation.spent  # type: ignore[assignment]
    return dict(stages), dict(functions.most_common())


def _time_text(compilations: list[Compilation]) -> list[str]:
    stages, functions = times(compilations)
    by_stage = ", ".join(f"{stage} {_milliseconds(spent)}" for stage, spent in stages.items())
    lines = [f"Compile Times: {by_stage}"]
    if len(functions) > 1:
        lines += [f"  {_milliseconds(spent):>10}  {name}" for name, spent in functions.items()]
    return lines


def breaks_of(record: Mapping[str, Any]) -> list[BreakReason]:
    """Return the graph breaks of a native record."""
    return [BreakReason(**reason) for reason in record["break_reasons"]]


def compilations_of(record: Mapping[str, Any], breaks: list[BreakReason]) -> list[Compilation]:
    """Return the compilations of a native record, each with its own of the record's breaks."""
    entries = [dict(entry) for entry in record["compilations"]]
    starts = [entry.pop("first_break") for entry in entries]
    found = []
    for entry, (start, end) in zip(entries, pairwise([*starts, len(breaks)]), strict=True):
        own = breaks[start:end]
        graphs = [Graph(**graph) for graph in entry.pop("graphs")]
        found.append(Compilation(**entry, graphs=graphs, breaks=own))
    return found


def explain(fn: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """Do what `ferrodyn.explain` says."""

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
    reasons = breaks_of(record)
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
        compilations=compilations_of(record, reasons),
    )

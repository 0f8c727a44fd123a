"""`explain`: what became of a function, without a backend.

The native module keeps the records; this makes them readable. Does not live here: pages
(`_pages`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from . import _core
from ._api import decorator
from ._context import CompileOptions

#: A frame of a stack, as the native module writes it.
_FRAME = r'File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)'
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
        return _places(self.user_stack)


def _places(stack: Sequence[str]) -> list[Place]:
    """Return the places of a stack that are the program's, the innermost first."""
    found = [re.match(_FRAME, frame) for frame in reversed(stack)]
    own = os.path.dirname(__file__) + os.sep
    places = [Place(m["file"], int(m["line"]), m["function"]) for m in found if m]
    # Nor is the one who runs a program by its name.
    return [place for place in places if not place.file.startswith((own, "<frozen "))]


@dataclass(frozen=True)
class Guard:
    """A line of the tree of guards: a check, or a value that is read for those below it."""

    #: How deep it is in the tree.
    depth: int
    #: torch's name of its kind, ``TENSOR_MATCH``; empty for a value that is read.
    kind: str
    #: What it checks, as Python.
    says: str
    #: The line of the program that asked for it.
    why: str
    #: Where that line is: ``file.py:3 in f``.
    place: str
    #: How a recompilation names it.
    code: str
    #: What it takes by itself, in a check for which nothing is remembered.
    nanoseconds: float | None

    def asked_by(self) -> str:
        """Return the line that asked for it, with its place."""
        return "  # ".join(filter(None, (self.why, self.place)))


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
    #: Whether it is what goes on behind a graph break.
    resumes: bool
    #: The calls that led to it, as ``File "...", line N, in name``, outermost first.
    stack: list[str]
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
    #: The same line by line.
    guard_lines: list[Guard]
    #: Those by their code that failed where no other compiled code did for a call either, and how
    #: often.
    failures: dict[str, int]
    #: Microseconds of a check of all of them.
    check: float | None
    #: The code before and after.
    bytecode: str
    #: The code after, as Python.
    python: str
    #: Why code that was there could not be used, with the value that changed.
    recompile_reasons: list[str]
    #: For each of these the line of the program that asked for the guard, and where that is.
    recompile_lines: list[str]
    #: ``compiled``, ``eager`` this time, ``skipped`` from now on, or an exception.
    outcome: str

    @property
    def place(self) -> Place:
        return Place(self.file, self.line, self.function)

    def callers(self) -> list[Place]:
        """Return the calls that led to it, the innermost first."""
        return _places(self.stack)

    def checks(self) -> list[Guard]:
        """Return its guards, without the values that are read for them."""
        return [line for line in self.guard_lines if line.kind]

    @property
    def spent(self) -> float:
        """How many seconds it took; those of the tracing alone where it did not come to an end."""
        return self.seconds.get("total", self.seconds.get("tracing", 0.0))

    def guards_by_kind(self) -> str:
        """Return how many guards of each kind there are, the most first."""
        kinds = Counter(guard.kind for guard in self.checks())
        return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


@dataclass(frozen=True)
class Record:
    """What was compiled."""

    #: In the order in which they began.
    compilations: list[Compilation] = field(default_factory=list)
    breaks: list[BreakReason] = field(default_factory=list)
    #: Guards for which compiled code could not be reused, as Python, and how often each failed.
    guard_failures: dict[str, int] = field(default_factory=dict)


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
        return "\n".join([*self._summary(), *text_of(self.record())])

    def _repr_html_(self) -> str:
        from . import _pages

        return _pages.notebook(self.record())

    def record(self) -> Record:
        """Return what pages and texts are made from."""
        return Record(self.compilations, self.break_reasons, self.guard_failures)

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


def text_of(record: Record) -> list[str]:
    """Return lines for a terminal: breaks first, which is what is looked for most."""
    lines: list[str] = []
    for number, reason in enumerate(record.breaks, 1):
        lines += ["", f"Break Reason {number}: {reason.reason}", *break_text(reason)]
    for compilation in record.compilations:
        lines += ["", *_compilation_text(compilation)]
    lines += ["", *_time_text(record.compilations)]
    return lines


def break_text(reason: BreakReason) -> list[str]:
    """Return where a graph broke, why, and what to change."""
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
    return [guard for guard in compilation.checks() if guard.kind in _SPECIALISING]


def _compilation_text(compilation: Compilation) -> list[str]:
    total = compilation.seconds.get("total", 0.0)
    head = f"[{compilation.id}] {compilation.place}: {compilation.outcome}"
    lines = [f"{head}, {_milliseconds(total)}" if total else head]
    again = zip(compilation.recompile_reasons, compilation.recompile_lines, strict=True)
    lines += [f"  Recompiled because {reason}  {line}".rstrip() for reason, line in again]
    for graph in compilation.graphs:
        lines.append(f"  Graph {graph.name}, {graph.operations} operations:")
        lines += [f"    {line}" for line in graph.code.strip().splitlines()]
    if counts := compilation.guards_by_kind():
        lines.append(f"  Guards: {counts}")
    if values := specialised(compilation):
        lines.append("  Specialised:")
        lines += [f"    {guard.says}  # {guard.asked_by()}" for guard in values]
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


def record_of(native: Mapping[str, Any]) -> Record:
    """Return a native record: each compilation with its own of the breaks."""
    breaks = [BreakReason(**reason) for reason in native["break_reasons"]]
    entries = [dict(entry) for entry in native["compilations"]]
    starts = [entry.pop("first_break") for entry in entries]
    found = []
    for entry, (start, end) in zip(entries, pairwise([*starts, len(breaks)]), strict=True):
        graphs = [Graph(**graph) for graph in entry.pop("graphs")]
        lines = [Guard(**line) for line in entry.pop("guard_lines")]
        found.append(
            Compilation(**entry, graphs=graphs, guard_lines=lines, breaks=breaks[start:end])
        )
    return Record(found, breaks, dict(native["guard_failures"]))


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
    made = record_of(record)
    return ExplainOutput(
        graphs=graphs,
        graph_count=len(graphs),
        graph_break_count=len(made.breaks),
        break_reasons=made.breaks,
        op_count=sum(map(len, ops)),
        ops_per_graph=ops,
        out_guards=list(record.get("out_guards", ())),
        guard_failures=made.guard_failures,
        compile_times=dict(record.get("compile_times", {})),
        instruction_counts=dict(record.get("instruction_counts", {})),
        fake_tensor_ops=dict(record.get("fake_tensor_ops", {})),
        compilations=made.compilations,
    )

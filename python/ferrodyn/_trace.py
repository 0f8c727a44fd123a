"""The record of a run as torch's structured trace, which `tlparse` reads.

Each line is a glog prefix and a JSON object; a text that goes with it follows in lines that begin
with a tab, and the object has its MD5. Nothing of torch's tracer is imported. Does not live here:
what a record is (`_explain`), and when one is taken (`_report`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from . import _explain
from ._explain import Compilation, Place

#: Where the parts of a compilation are shown in a timeline, in their order.
_STAGES = ("tracing", "backend", "guards")


def rank() -> int | None:
    """Return the number of this process among those that train together."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    # The group may be gone when a program ends.
    number = os.environ.get("RANK", "")
    return int(number) if number.isdigit() and "WORLD_SIZE" in os.environ else None


def file_name(program: str) -> str:
    """Return the name of this process's trace: as torch's, by which `tlparse` finds ranks."""
    number = rank()
    of_rank = "" if number is None else f"rank_{number}_"
    return f"dedicated_log_torch_trace_{of_rank}{program}-{os.getpid()}.log"


def text(compilations: Sequence[Compilation]) -> str:
    """Return the trace of a run."""
    return "".join(_Trace().lines(compilations))


class _Trace:
    def __init__(self) -> None:
        self._rank = rank()
        #: Files that were named, each by its number from then on.
        self._files: dict[str, int] = {}

    def lines(self, compilations: Sequence[Compilation]) -> Iterator[str]:
        for compilation in compilations:
            yield from self._compilation(compilation)

    def _compilation(self, c: Compilation) -> Iterator[str]:
        def event(
            name: str, metadata: Any, payload: str | None = None, after: float = 0.0
        ) -> Iterator[str]:
            yield self._line(name, metadata, payload, c.started + after, _envelope_id(c))

        def artifact(name: str, payload: object) -> Iterator[str]:
            is_text = isinstance(payload, str)
            encoding = "string" if is_text else "json"
            shown = payload if isinstance(payload, str) else json.dumps(payload)
            yield from event("artifact", {"name": name, "encoding": encoding}, shown, c.spent)

        stack = [*reversed(c.callers()), c.place]
        yield from self._names(c, stack)
        yield from event("dynamo_start", {"stack": [self._frame(place) for place in stack]})
        if c.recompile_reasons:
            yield from artifact("recompile_reasons", c.recompile_reasons)
        for reason in c.breaks:
            said = "\n".join([reason.reason, *_explain.break_text(reason)])
            yield from artifact("dynamo_graph_break_reason", said)
        traced = c.seconds.get("tracing", 0.0)
        for graph in c.graphs:
            yield from event("dynamo_output_graph", {"sizes": {}}, graph.code, traced)
        guards = c.checks()
        if guards:
            listed = [{"code": f"{guard.says}  # {guard.asked_by()}"} for guard in guards]
            yield from event("dynamo_guards", {}, json.dumps(listed), c.spent)
            yield from event("dynamo_cpp_guards_str", {}, c.guards, c.spent)
        if c.bytecode:
            yield from artifact("ferrodyn_bytecode", c.bytecode)
        if c.python:
            yield from artifact("ferrodyn_residual_code", c.python)
        for span in _spans(c):
            yield from event("chromium_event", {}, json.dumps(span), c.spent)
        yield from event("compilation_metrics", _metrics(c, len(guards)), None, c.spent)

    def _names(self, c: Compilation, stack: Sequence[Place]) -> Iterator[str]:
        for file in dict.fromkeys(place.file for place in stack):
            if file not in self._files:
                self._files[file] = len(self._files)
                yield self._line("str", [file, self._files[file]], None, c.started, {})

    def _frame(self, place: Place) -> dict[str, Any]:
        import linecache

        return {
            "filename": self._files[place.file],
            "line": place.line,
            "name": place.function,
            "loc": linecache.getline(place.file, place.line).strip(),
        }

    def _line(
        self, name: str, metadata: Any, payload: str | None, when: float, which: dict[str, Any]
    ) -> str:
        record = {name: metadata, **which}
        if self._rank is not None:
            record["rank"] = self._rank
        shown = ""
        if payload is not None:
            # A line is what ends with a newline and with nothing else.
            payload = payload.replace("\r", "")
            record["has_payload"] = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
            shown = "".join(f"\n\t{line}" for line in payload.split("\n"))
        day = time.strftime("%m%d %H:%M:%S", time.localtime(when))
        head = f"V{day}.{int(when % 1 * 1e6):06d} {os.getpid()} ferrodyn/_trace.py:1]"
        return f"{head} {json.dumps(record)}{shown}\n"


def _envelope_id(c: Compilation) -> dict[str, int]:
    frame, _, attempt = c.id.partition("/")
    return {"frame_id": int(frame), "frame_compile_id": int(attempt), "attempt": 0}


def _spans(c: Compilation) -> Iterator[dict[str, Any]]:
    """Return the spans of a compilation in Chromium's format: the whole, and its stages in turn."""
    common = {"cat": "ferrodyn", "ph": "X", "pid": os.getpid(), "tid": 0}
    arguments = {"compile_id": c.id, "function": str(c.place)}
    start = c.started * 1e6
    yield {
        **common,
        "name": f"{c.function} [{c.id}]",
        "ts": start,
        "dur": c.spent * 1e6,
        "args": arguments,
    }
    for stage in _STAGES:
        took = c.seconds.get(stage, 0.0) * 1e6
        if took:
            yield {**common, "name": stage, "ts": start, "dur": took, "args": arguments}
            start += took


def _metrics(c: Compilation, guards: int) -> dict[str, Any]:
    failed: dict[str, Any] = {}
    if c.outcome not in ("compiled", "eager"):
        place = c.breaks[-1].places()[:1] if c.breaks else []
        failed = {
            "fail_type": "Skipped" if c.outcome == "skipped" else "Raised",
            "fail_reason": c.breaks[-1].reason if c.breaks else c.outcome,
            "fail_user_frame_filename": place[0].file if place else c.file,
            "fail_user_frame_lineno": place[0].line if place else c.line,
        }
    return {
        "co_name": c.function,
        "co_filename": c.file,
        "co_firstlineno": c.line,
        "guard_count": guards,
        "graph_op_count": sum(graph.operations for graph in c.graphs),
        "start_time": c.started,
        "entire_frame_compile_time_s": c.spent,
        "backend_compile_time_s": c.seconds.get("backend", 0.0),
        "restart_reasons": [reason.reason for reason in c.breaks],
        **failed,
    }

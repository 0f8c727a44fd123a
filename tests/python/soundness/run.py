"""Runs rows, alone and put together: what a program does plainly and compiled must be the same."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

import harness
import torch

from . import classes, containers, functions, inputs, library, modules, names, state
from .rows import Row

GROUPS = [
    module.group
    for module in (inputs, names, containers, functions, classes, modules, state, library)
]
ROWS: list[Row] = [row for group in GROUPS for row in group.rows]

HEADER = """\
import torch
from support import COMPILE, DISABLE, INFERENCE
"""
_count = 0


class Loaded:
    """A program in a namespace of its own."""

    def __init__(self, text: str, compile: Callable[[Any], Any], choices: Any = None) -> None:
        global _count
        _count += 1
        self.file = f"<soundness {_count}>"
        linecache.cache[self.file] = (len(text), None, text.splitlines(True), self.file)
        # Classes find their module by name.
        module = types.ModuleType("program")
        sys.modules["program"] = module
        self.namespace: dict[str, Any] = module.__dict__
        self.namespace.update(COMPILE=compile, DISABLE=lambda f: f, INFERENCE=inference)
        if compile is not plain:
            import ferrodyn

            self.namespace["DISABLE"] = ferrodyn.disable
        harness._seed()
        self.run(text, self.file)

    def run(self, text: str, file: str = "<change>") -> None:
        """Execute code in the namespace."""
        exec(compile(text, file, "exec"), self.namespace)

    def value(self, text: str) -> Any:
        """Evaluate an expression in the namespace."""
        return eval(text, self.namespace)


def plain(f: Any) -> Any:
    """Compile nothing."""
    return f


def inference(make: Callable[[], Any]) -> Any:
    """What `make` gives in inference mode."""
    with torch.inference_mode():
        return make()


def number(text: str, index: int) -> str:
    """The text of the row that is the `index`-th of its program."""
    return text.replace("$", str(index))


def indent(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.split("\n"))


def program(row: Row) -> str:
    """The program that reads one row and does nothing else."""
    argument = ", a0=None" if row.arguments else ""
    return number(
        f"import torch\n{row.setup}\ndef fn(x{argument}):\n"
        f"    x = x + 0\n    return [{row.read}]\n",
        0,
    )


class Step:
    """One call: code that runs before it, its arguments, the context around it."""

    def __init__(
        self, change: str, arguments: list[str], context: str, thread: bool = False
    ) -> None:
        self.change = change
        self.arguments = arguments
        self.context = context
        self.thread = thread

    def apply(self, loaded: Loaded) -> None:
        """Make the change, in another thread where that was asked for."""
        if not self.change:
            return
        if not self.thread:
            _quiet(loaded, self.change)
            return
        thread = threading.Thread(target=_quiet, args=(loaded, self.change))
        thread.start()
        thread.join()


def _quiet(loaded: Loaded, change: str) -> None:
    # A change may be impossible after others: then it is so in both runs.
    with contextlib.suppress(Exception):
        loaded.run(change)


class _Where(Exception):
    """What a context did instead of the call."""


def run_steps(loaded: Loaded, fn: Callable[..., Any], steps: list[Step], undo: list[str]) -> Any:
    """Make all calls and describe what they did."""
    record: list[Any] = []
    describe = harness.Describer()
    torch.manual_seed(1)
    harness._seed()
    try:
        for step in steps:
            step.apply(loaded)
            x = torch.arange(3.0) + 1
            try:
                arguments = [loaded.value(text) for text in step.arguments]
            except Exception as error:
                record.append(("no arguments", type(error).__name__))
                continue
            before = _global_state()
            with contextlib.ExitStack() as stack:
                if step.context:
                    stack.enter_context(loaded.value(step.context))
                describe.begin()
                entry: dict[str, Any] = {}
                try:
                    result = fn(x, *arguments)
                except Exception as error:
                    entry["error"] = _describe_error(error, loaded.file)
                    result = None
            entry["result"] = _describe(describe, result)
            entry["inputs"] = _describe(describe, arguments)
            entry["random"] = torch.get_rng_state().sum().item()
            entry["state"] = [a == b for a, b in zip(before, _global_state(), strict=True)]
            record.append(entry)
    finally:
        # Twice: what a row puts back may have been reached by way of what a later one puts back.
        for code in [*undo, *undo]:
            with contextlib.suppress(Exception):
                loaded.run(code)
    return record


def _describe_error(error: BaseException, file: str) -> dict[str, Any]:
    described = harness.describe_error(error, file)
    frames = traceback.extract_tb(error.__traceback__)
    # A break deep in a library leaves out frames between; the frame that raised is always there.
    if frames and frames[-1].filename != file:
        described["line"] = None
    return described


def _global_state() -> list[Any]:
    return [torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_inference_mode_enabled()]


def _describe(describe: harness.Describer, value: Any) -> Any:
    try:
        return describe(value)
    except Exception as error:
        return f"cannot be described: {type(error).__name__}"


_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|<soundness \d+>")


def tidy(record: Any) -> Any:
    """Take addresses and file names out of texts."""
    if isinstance(record, str):
        return _ADDRESS.sub("0x", record)
    if isinstance(record, dict):
        return {key: tidy(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return type(record)(tidy(value) for value in record)
    return record


def compare(
    text: str, steps: list[Step], undo: list[str], backend: Any = None, **choices: Any
) -> list[tuple[str, str]]:
    """Run plainly and compiled; returns the log of recompilations."""
    loaded = Loaded(text, plain)
    expected = tidy(run_steps(loaded, loaded.namespace["fn"], steps, undo))
    harness.reset()
    compiler = lambda f: harness.compile(f, backend=backend or harness.Recorder(), **choices)
    loaded = Loaded(text, compiler)
    fn = compiler(loaded.namespace["fn"])
    with harness.captured_logs("recompiles", "graph_breaks") as logs:
        found = tidy(run_steps(loaded, fn, steps, undo))
    try:
        harness.assert_same(expected, found)
    except AssertionError as error:
        shown = "\n".join(
            f"  {i}: {step.change!r} {step.arguments} {step.context}"
            for i, step in enumerate(steps)
        )
        raise AssertionError(f"{error}\n\n{text}\nsteps:\n{shown}") from None
    return logs


def row_steps(row: Row) -> list[Step]:
    """Two calls, then each change with two calls, the last to use what was compiled."""
    first = [number(row.arguments[0], 0)] if row.arguments else []
    steps = [Step("", first, ""), Step("", first, "")]
    for change, argument, context in row.steps():
        arguments = [number(argument, 0)] if row.arguments else []
        steps.append(Step(number(change, 0), arguments, number(context, 0)))
        steps.append(Step("", arguments, number(context, 0)))
        if argument != (row.arguments[0] if row.arguments else "") or context:
            steps.append(Step("", first, ""))
    return steps


def run_row(row: Row, **choices: Any) -> list[tuple[str, str]]:
    """Test one row; returns the log of recompilations."""
    return compare(program(row), row_steps(row), [number(row.undo, 0)], **choices)

"""Records of whole runs: ``python -m ferrodyn explain``, ``report``, and ``FERRODYN_TRACE``.

What does not live here: how a record looks as text (`_explain`) or as a page (`_pages`).
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import _core, _explain


class Recording:
    """The record of all compilations of this process, from here on."""

    def __init__(self) -> None:
        _core.explain_begin(all_threads=True)

    def end(self) -> tuple[list[_explain.Compilation], list[_explain.BreakReason]]:
        """Stop, and return what was compiled and where graphs broke."""
        record = _core.explain_end(all_threads=True)
        breaks = _explain.breaks_of(record)
        return _explain.compilations_of(record, breaks), breaks


def _run_program(program: str, args: Sequence[str], *, is_module: bool) -> None:
    from . import _run

    _run.run(program, args, is_module=is_module)


def explain(program: str, args: Sequence[str], *, is_module: bool) -> None:
    """Run a program, and say on stderr what became of all that it compiled."""
    recording = Recording()
    try:
        _run_program(program, args, is_module=is_module)
    finally:
        compilations, breaks = recording.end()
        sys.stdout.flush()
        print("\n".join(_explain.text_of(compilations, breaks)), file=sys.stderr)


def report(program: str, args: Sequence[str], *, is_module: bool, output: str) -> None:
    """Run a program, and write the page of the run."""
    recording = Recording()
    try:
        _run_program(program, args, is_module=is_module)
    finally:
        _write(recording, Path(output), program)
        print(f"The report is in {output}", file=sys.stderr)


def trace(folder: str) -> None:
    """Write the report of this process into a folder when it ends, as ``FERRODYN_TRACE`` asks."""
    recording = Recording()
    process = os.getpid()

    def write() -> None:
        # A forked child is not the process whose name the file has.
        if os.getpid() == process:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = Path(sys.argv[0]).name or "python"
            _write(recording, Path(folder) / f"{name}-{process}.html", name)

    atexit.register(write)


def _write(recording: Recording, path: Path, title: str) -> None:
    from . import _pages

    path.write_text(_pages.report(title, *recording.end()), encoding="utf-8")

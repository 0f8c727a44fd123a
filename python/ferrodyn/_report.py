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

    def end(self) -> _explain.Record:
        """Stop, and return what was compiled and where graphs broke."""
        return _explain.record_of(_core.explain_end(all_threads=True))


def _run_program(program: str, args: Sequence[str], *, is_module: bool) -> None:
    from . import _run

    _run.run(program, args, is_module=is_module)


def explain(program: str, args: Sequence[str], *, is_module: bool) -> None:
    """Run a program, and say on stderr what became of all that it compiled."""
    recording = Recording()
    try:
        _run_program(program, args, is_module=is_module)
    finally:
        record = recording.end()
        sys.stdout.flush()
        print("\n".join(_explain.text_of(record)), file=sys.stderr)


def report(program: str, args: Sequence[str], *, is_module: bool, output: str) -> None:
    """Run a program, and write the page of the run."""
    recording = Recording()
    try:
        _run_program(program, args, is_module=is_module)
    finally:
        _write(recording.end(), Path(output), program)
        print(f"The report is in {output}", file=sys.stderr)


def trace(folder: str) -> None:
    """Write what ``FERRODYN_TRACE`` asks for into a folder when this process ends.

    That is the page of the process, and the same as a trace for `tlparse`.
    """
    recording = Recording()
    process = os.getpid()

    def write() -> None:
        # A forked child is not the process whose name the file has.
        if os.getpid() == process:
            Path(folder).mkdir(parents=True, exist_ok=True)
            name = Path(sys.argv[0]).name or "python"
            record = recording.end()
            _write(record, Path(folder) / f"{name}-{process}.html", name)
            # Last: `tlparse --latest` reads the newest file of a folder.
            from . import _trace

            text = _trace.text(record.compilations)
            (Path(folder) / _trace.file_name(name)).write_text(text, encoding="utf-8")

    atexit.register(write)


def _write(record: _explain.Record, path: Path, title: str) -> None:
    from . import _pages

    path.write_text(_pages.report(title, record), encoding="utf-8")

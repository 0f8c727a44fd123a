"""How the demonstration prints what Ferrodyn logs."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table

_console = Console()
_HEADINGS = {
    "graph": "graph",
    "guards": "guard code",
    "bytecode": "residual bytecode and resume functions",
    "graph_breaks": "graph break",
}


def title(text: str) -> None:
    """Print a heading."""
    _console.print()
    _console.print(Rule(f"[bold]{text}[/bold]"))


def source(fn: Callable[..., Any]) -> None:
    """Print a function's source."""
    _console.print(Syntax(inspect.getsource(fn), "python", background_color="default"))


def table(value: Table) -> None:
    """Print a table."""
    _console.print(value)


@contextlib.contextmanager
def collected(*kinds: str) -> Iterator[list[tuple[str, str]]]:
    """Collect what is logged of these kinds, as pairs of kind and text."""
    found: list[tuple[str, str]] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append((record.name.removeprefix("ferrodyn."), record.getMessage()))

    handler = Collect()
    loggers = [logging.getLogger(f"ferrodyn.{kind}") for kind in kinds]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(handler)
    try:
        yield found
    finally:
        for logger in loggers:
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
            logger.removeHandler(handler)


def records(found: list[tuple[str, str]], lines: int | None = None) -> None:
    """Print records by kind, each cut to its first and last `lines` lines in all."""
    for kind, heading in _HEADINGS.items():
        for number, text in enumerate((t for k, t in found if k == kind), 1):
            _console.print(Rule(f"{heading} {number}", style="dim", align="left"))
            # Plain print: brackets and colours in the text are its own.
            print(_cut(text.rstrip(), lines), flush=True)
            print(flush=True)


def _cut(text: str, lines: int | None) -> str:
    """Keep the first two thirds and the last third of `lines` lines."""
    all_lines = text.split("\n")
    if lines is None or len(all_lines) <= lines + 1:
        return text
    head, tail = lines * 2 // 3, lines - lines * 2 // 3
    left_out = len(all_lines) - lines
    return "\n".join([*all_lines[:head], f"... {left_out} more lines ...", *all_lines[-tail:]])

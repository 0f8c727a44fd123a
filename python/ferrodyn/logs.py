"""Which logs are shown, and how a line looks.

Ferrodyn logs through Python's ``logging``: one logger for each kind of log, named
``ferrodyn.<kind>``, whose records have level DEBUG; warnings go to ``ferrodyn``. Nothing
is set up unless ``FERRODYN_LOGS`` or :func:`set_logs` asks for it, so a program's own
handlers see the records as those of any library.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

from .exc import LogOptionError

#: Every kind of log, and what it shows.
KINDS: dict[str, str] = {
    "graph": "each captured graph as a table",
    "graph_code": "each captured graph as Python",
    "guards": "the guards of each compiled region, as a tree, with their latency",
    "bytecode": "the code before and after compilation",
    "graph_breaks": "each graph break: reason, explanation, hints, the user's stack",
    "state": "the symbolic state at each graph break: frames, what was changed, contexts",
    "recompiles": "each recompilation and the guards that failed",
    "captures": "which captures are taken from disk or kept there, and why not",
    "trace_bytecode": "each instruction as it is interpreted",
}

_ROOT = logging.getLogger("ferrodyn")
_LETTERS = {10: "V", 20: "I", 30: "W", 40: "E", 50: "C"}
_handler: logging.Handler | None = None
_shown: set[str] = set()


class LogFormatter(logging.Formatter):
    """Put torch's kind of prefix before every line of a record:

    ``V1121 02:48:29.123456 4242 ferrodyn] [0/0] [__guards] ...``: level, month and day,
    time, process, then the compile id and the kind of log where there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, one prefix a line."""
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        day = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        micros = int(record.created % 1 * 1_000_000)
        prefix = f"{_LETTERS.get(record.levelno, 'I')}{day}.{micros:06} {record.process} ferrodyn]"
        if compile_id := getattr(record, "compile_id", None):
            prefix += f" [{compile_id}]"
        if (kind := record.name.removeprefix("ferrodyn.")) in KINDS:
            prefix += f" [__{kind}]"
        return "\n".join(f"{prefix} {line}".rstrip() for line in text.split("\n"))


class _CurrentStderr(logging.StreamHandler):
    """Write to what ``sys.stderr`` is now, not to what it was at import."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass


def parse(spec: str) -> set[str]:
    """Return the kinds that ``spec`` asks for.

    A comma-separated list of kinds or ``all``, read from the left; ``+kind`` is the same
    as ``kind``, and ``-kind`` takes one away again. Raises :class:`LogOptionError` for a
    name that does not exist, with the list of those that do.
    """
    kinds: set[str] = set()
    for item in spec.split(","):
        item = item.strip()
        if not item:
            continue
        name = item.lstrip("+-")
        if name != "all" and name not in KINDS:
            known = "\n".join(f"  {kind:<15} {text}" for kind, text in KINDS.items())
            raise LogOptionError(
                f"unknown log {name!r} in {spec!r}. The logs are:\n{known}\n"
                f"  {'all':<15} all of them\n"
                "Separate them by commas; -name leaves one out (all,-trace_bytecode)."
            )
        chosen = set(KINDS) if name == "all" else {name}
        kinds = kinds - chosen if item.startswith("-") else kinds | chosen
    return kinds


#: Logs of torch's tracer that have no namesake here, and what shows the same.
SHOWN_BY_OTHERS = {
    "dynamo": 'FERRODYN_LOGS="all"',
    "graph_code_verbose": "graph_code",
    "graph_sizes": "graph_code",
    "side_effects": "bytecode",
    "trace_source": "trace_bytecode",
    "trace_call": "trace_bytecode",
    "graph_region_expansion": "graph",
    "hierarchical_compile": "graph",
}


def follow_torch(names: Sequence[str]) -> None:
    """Show the logs that torch's settings name, beside those that are shown already.

    Where torch's tracer has a log that is not here, a warning says what shows the same.
    """
    chosen = {"recompiles" if name == "recompiles_verbose" else name for name in names}
    if kinds := chosen & set(KINDS):
        set_logs(",".join(sorted(kinds | _shown)))
    for name in sorted(chosen & set(SHOWN_BY_OTHERS)):
        _ROOT.warning("Ferrodyn has no log %r: use %s", name, SHOWN_BY_OTHERS[name])


def set_logs(spec: str = "", **kinds_by_name: bool) -> None:
    """Show the logs named by ``spec`` on stderr, and no others; ``""`` shows none.

    See :func:`parse` for the form. ``FERRODYN_LOGS`` is given to this function at import. Logs can
    be named by keywords as well, as torch does it: ``set_logs(graph_breaks=True)``.
    """
    global _handler, _shown
    named = ",".join(kind if shown else f"-{kind}" for kind, shown in kinds_by_name.items())
    kinds = parse(f"{spec},{named}")
    _shown = kinds
    for kind in KINDS:
        logging.getLogger(f"ferrodyn.{kind}").setLevel(
            logging.DEBUG if kind in kinds else logging.NOTSET
        )
    if kinds and _handler is None:
        _handler = _CurrentStderr()
        _handler.setFormatter(LogFormatter())
        _ROOT.addHandler(_handler)
        _ROOT.propagate = False
    elif not kinds and _handler is not None:
        _ROOT.removeHandler(_handler)
        _handler = None
        _ROOT.propagate = True


set_logs(os.environ.get("FERRODYN_LOGS", ""))

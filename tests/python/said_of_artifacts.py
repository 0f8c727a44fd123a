"""What the log of kept artifacts has said, for programs that tests run in other processes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

#: The kinds of messages so far, but for those that no artifact was found.
said: list[str] = []
#: Messages that no artifact was found.
missed: list[str] = []


class _Said(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        kind = message.partition(":")[0]
        if kind == "no artifact":
            missed.append(message)
        else:
            said.append(kind)


_log = logging.getLogger("ferrodyn.artifacts")
_log.setLevel(logging.INFO)
_log.addHandler(_Said())


def kept_in(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps what is compiled in a folder."""
    return {
        **os.environ,
        "FERRODYN_CACHE": "1",
        "FERRODYN_CACHE_DIR": str(folder / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "PYTHONPATH": str(Path(__file__).parent),
    }

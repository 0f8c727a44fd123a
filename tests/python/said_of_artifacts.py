"""What the log of kept artifacts has said in this process.

Only for programs that tests run in processes of their own (`kept_programs`): the log is heard from
the import on.
"""

from __future__ import annotations

import logging

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

"""Rows in a process that finds what an earlier one has kept: of graphs below inductor, or captures.

`between.py EVERY artifacts|captures [reversed]` runs every EVERY-th row, its changes in their order
or from behind, so that another process meets other states first. Prints, as JSON, the rows whose
results are not eager's, and how many were kept and used.
"""

from __future__ import annotations

import collections
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ferrodyn  # noqa: E402

from soundness import run  # noqa: E402

#: For what is kept: the backend, the log, and how that says that one was kept or used.
_WHAT = {
    "artifacts": (
        "inductor",
        "artifacts",
        {"an artifact is kept": "kept", "an artifact is used": "used"},
    ),
    "captures": ("eager", "captures", {"a capture is kept": "kept", "a capture is taken": "used"}),
}


class _Counts(logging.Handler):
    def __init__(self, fates: dict[str, str]) -> None:
        super().__init__()
        self.fates = fates
        self.counts: collections.Counter[str] = collections.Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[self.fates.get(record.getMessage().partition(":")[0], "other")] += 1


def main(every: int, what: str, *, is_reversed: bool) -> None:
    """Run the rows, and print what became of them."""
    backend, name, fates = _WHAT[what]
    log, counts = logging.getLogger(f"ferrodyn.{name}"), _Counts(fates)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(counts)
    wrong = []
    for row in run.ROWS[::every]:
        steps = run.row_steps(row)
        if is_reversed:
            steps = steps[::-1]
        undo = [run.number(row.undo, 0)]
        with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=1000):
            try:
                run.compare(run.program(row), steps, undo, backend=backend)
            except AssertionError:
                wrong.append(row.name)
    print(json.dumps({"wrong": wrong, **counts.counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], is_reversed="reversed" in sys.argv)

"""Rows below inductor, with what an earlier process has kept of it.

`between.py EVERY [reversed]` runs every EVERY-th row, its changes in their order or from behind, so
that another process meets other states first. Prints, as JSON, the rows whose results are not
eager's, and how many graphs were kept and found.
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

#: What the log says of a graph.
_FATES = {"an artifact is kept": "kept", "an artifact is used": "used"}


class _Counts(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.counts: collections.Counter[str] = collections.Counter()

    def emit(self, record: logging.LogRecord) -> None:
        self.counts[_FATES.get(record.getMessage().partition(":")[0], "other")] += 1


def main(every: int, *, is_reversed: bool) -> None:
    """Run the rows, and print what became of them."""
    log, counts = logging.getLogger("ferrodyn.artifacts"), _Counts()
    log.setLevel(logging.INFO)
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
                run.compare(run.program(row), steps, undo, backend="inductor")
            except AssertionError:
                wrong.append(row.name)
    print(json.dumps({"wrong": wrong, **counts.counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]), is_reversed="reversed" in sys.argv)

"""Each kind of change between two calls: the result is eager's."""

from __future__ import annotations

import harness
import pytest
from soundness import run

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


@pytest.mark.parametrize("row", run.ROWS, ids=lambda row: row.name)
def test_row(row):
    with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=1000):
        run.run_row(row)


@pytest.mark.parametrize("row", run.ROWS, ids=lambda row: row.name)
def test_row_at_the_limit(row):
    with ferrodyn.config.patch(recompile_limit=1):
        run.run_row(row)

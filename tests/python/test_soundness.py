"""Each kind of change between two calls: the result is eager's."""

from __future__ import annotations

import os
import sys

import harness
import pytest
import torch
from soundness import generate, run, table

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


@pytest.mark.parametrize("row", run.ROWS, ids=lambda row: row.name)
def test_row(row):
    with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=1000):
        logs = run.run_row(row)
    documented = table.read()
    assert row.name in documented, "write docs/soundness.md anew: soundness/table.py"
    # How the standard library and torch read things differs a little between Pythons.
    if sys.version_info[:2] == (3, 12):
        assert table.kinds(logs) <= documented[row.name]


def test_the_document_has_no_other_rows():
    assert list(table.read()) == [row.name for row in run.ROWS]


@pytest.mark.parametrize("row", run.ROWS, ids=lambda row: row.name)
def test_row_at_the_limit(row):
    with ferrodyn.config.patch(recompile_limit=1):
        run.run_row(row)


@pytest.mark.once
@pytest.mark.parametrize(
    "row", [row for row in run.ROWS if not row.compiled_wrong], ids=lambda row: row.name
)
def test_row_below_a_compiler(row):
    with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=1000):
        run.run_row(row, backend="aot_eager")


#: How many (program, change) pairs `test_pairs` checks; a full run has 10,000 and more.
PAIRS = int(os.environ.get("FERRODYN_SOUNDNESS_PAIRS", "400"))
SEED = int(os.environ.get("FERRODYN_SOUNDNESS_SEED", "0"))
CHANGES = 8


@pytest.mark.parametrize("part", range(8))
def test_pairs(part):
    """Programs made of several rows, changed between calls, in their middle and by threads."""
    count = max(1, PAIRS // CHANGES // 8)
    failures = []
    pairs = 0
    for seed in range(count):
        program = generate.Program(SEED + part + seed * 8, CHANGES)
        pairs += program.changed
        limit = 64 if seed % 5 else 2
        with ferrodyn.config.patch(recompile_limit=limit, accumulated_recompile_limit=1000):
            try:
                run.compare(program.text, program.steps, program.undo)
            except AssertionError as error:
                failures.append(f"seed {SEED + part + seed * 8}: {error}")
    assert not failures, f"{len(failures)} of {count} programs\n\n" + "\n\n".join(failures[:5])
    assert pairs >= count * CHANGES


@pytest.mark.parametrize("gone", [None, {}, {"other": [9]}])
def test_a_keyword_default_that_is_handed_on_has_to_be_there(gone):
    def given(v, *, k="a"):
        return v + 1, k

    def fn(x):
        return [given(x * 2)]

    compiled = ferrodyn.compile(fn, backend="eager")
    x = torch.ones(2)
    for default in ([6], [7], [8]):
        given.__kwdefaults__ = {"k": default}
        assert compiled(x)[0][1] is default
        given.__kwdefaults__ = gone
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'k'"):
            compiled(x)

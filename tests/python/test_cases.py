"""Every program of tests/cases: compared with eager, and pinned.

A case is a file with `fn` (or `make`, which returns a module or another callable), and
`inputs` (arguments, called twice) or `calls` (a list of arguments). `before(i)`, if there,
runs plainly before call `i`. What it expects, of which GRAPHS or BREAKS has to be there:

    GRAPHS            graphs of all calls together
    REFERENCE_GRAPHS  the same under torch.compile, where that differs
    REFERENCE_WRONG   where torch.compile differs from eager: not run under --reference
    COMPILED_WRONG    what differs below AOTAutograd, under torch.compile too: no --backend
    BREAKS            texts, each part of the reason of some graph break
    BACKWARD          False: do not run backward on the results
    SNAPSHOT          False: only compare with eager, pin nothing
    BYTECODE          True: pin the residual bytecode as well, where it is the point of the case
    OPTIONS           options that are set while it runs, which torch has too
    ALONE             True: eager runs torch.compile, which leaves its traces in the process

A program that is written for a newer Python says so in its name: `NAME_py314.py` needs 3.14.
"""

from __future__ import annotations

import copyreg
import functools
import os
import re
import sys
from pathlib import Path
from unittest import mock

import forked
import harness
import pytest
import snapshots

ROOT = Path(__file__).parents[1]
CASES = ROOT / "cases"
SNAPSHOTS = ROOT / "snapshots"
ALONE = "FERRODYN_TEST_ALONE"


def _can_run(path: Path) -> bool:
    needs = re.search(r"_py3(\d+)$", path.stem)
    return needs is None or sys.version_info >= (3, int(needs[1]))


ALL_PATHS = sorted(CASES.glob("*/*.py"))
PATHS = list(filter(_can_run, ALL_PATHS))


def _name(path: Path) -> str:
    return str(path.relative_to(CASES).with_suffix(""))


def _is_alone(path: Path) -> bool:
    return re.search(r"^ALONE = True$", path.read_text(), re.MULTILINE) is not None


@functools.cache
def _alone(names: tuple[str, ...]) -> str:
    """What pytest says of these cases, in a process that has run no other."""
    tests = [f"{__file__}::test_case[{name}]" for name in names]
    result = forked.run(
        ["-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider", "--show-capture=no", *tests],
        env={**os.environ, ALONE: "1"},
        cwd=ROOT.parent,
    )
    return result.stdout + result.stderr


def _run_alone(path: Path, session: pytest.Session) -> None:
    chosen = {
        item.callspec.params["path"] for item in session.items if item.name.startswith("test_case[")
    }
    said = _alone(tuple(sorted(map(_name, filter(_is_alone, chosen)))))
    assert re.search(rf"^PASSED .*\[{re.escape(_name(path))}\]$", said, re.MULTILINE), said


def _marked(path: Path) -> object:
    """Where eager runs torch's own compiler, one interpreter is enough."""
    return pytest.param(path, marks=pytest.mark.once if _is_alone(path) else (), id=_name(path))


@pytest.mark.parametrize("path", list(map(_marked, PATHS)))
def test_case(path: Path, request: pytest.FixtureRequest) -> None:
    """The compiled program does what the plain one does, with the expected graphs."""
    if _is_alone(path) and not harness.REFERENCE and ALONE not in os.environ:
        _run_alone(path, request.session)
        return
    case = harness.Case(path)
    if harness.REFERENCE and (reason := case.get("REFERENCE_WRONG")):
        pytest.skip(reason)
    if harness.BACKEND and (reason := case.get("COMPILED_WRONG")):
        pytest.skip(reason)
    expected = case.run(case.target())
    # Loaded anew, so that the compiled run starts from the same globals.
    case = harness.Case(path)
    recorder = harness.Recorder()
    breaks: list[tuple[str, str]]
    with harness.captured_logs("graph_breaks") as breaks:
        compiled = harness.compile(case.target(), backend=harness.BACKEND or recorder)
        found = case.run(compiled)
    harness.assert_same(expected, found)
    if harness.BACKEND:
        return
    graphs = case.get("GRAPHS")
    assert graphs is not None or case.get("BREAKS"), "a case states GRAPHS or BREAKS"
    if harness.REFERENCE:
        graphs = case.get("REFERENCE_GRAPHS", graphs)
    if graphs is not None:
        shown = "\n".join(str(graph.graph) for graph in recorder.graphs)
        assert len(recorder.graphs) == graphs, f"expected {graphs} graphs, got:\n{shown}"
    if not harness.REFERENCE:
        # What was compiled serves the call that it was compiled for.
        assert not [text for _, text in breaks if "for the very call" in text]
        for reason in case.get("BREAKS", ()):
            assert any(reason in text for _, text in breaks), (reason, breaks)


@pytest.mark.own
@pytest.mark.parametrize("path", PATHS, ids=_name)
def test_snapshot(path: Path, request: pytest.FixtureRequest) -> None:
    """Graphs, guards, breaks and bytecode are the pinned ones."""
    case = harness.Case(path)
    if not case.get("SNAPSHOT", True):
        pytest.skip("not pinned")
    with (
        mock.patch.dict(copyreg.dispatch_table, harness.REDUCTIONS, clear=True),
        harness.captured_logs("graph", "guards", "bytecode", "graph_breaks") as records,
    ):
        case.run(harness.compile(case.target(), backend=harness.Recorder()))
    bytecode = case.get("BYTECODE", False)
    text = snapshots.describe(records, _name(path), bytecode)
    pinned = snapshots.Snapshot(SNAPSHOTS, _name(path))
    if request.config.getoption("--bless"):
        pinned.bless(text)
        return
    expected = pinned.texts()[snapshots.PYTHON]
    assert text == expected, f"{pinned.base} differs: look, then run with --bless"


@pytest.mark.own
def test_no_stale_snapshots(request: pytest.FixtureRequest) -> None:
    """Every file of the snapshots belongs to a case, and holds something."""
    names = {_name(path) for path in ALL_PATHS if "\nSNAPSHOT = False\n" not in path.read_text()}
    stale = snapshots.stale_files(SNAPSHOTS, names)
    if request.config.getoption("--bless"):
        for path in stale:
            path.unlink()
        return
    assert not stale, "remove these, or run with --bless"

"""Every program of tests/cases: compared with eager, and pinned.

A case is a file with `fn` (or `make`, which returns a module or another callable), and
`inputs` (arguments, called twice) or `calls` (a list of arguments). `before(i)`, if there,
runs plainly before call `i`. Optional expectations:

    GRAPHS            graphs of all calls together
    REFERENCE_GRAPHS  the same under torch.compile, where that differs
    REFERENCE_WRONG   where torch.compile differs from eager: not run under --reference
    COMPILED_WRONG    what differs below AOTAutograd, under torch.compile too: no --backend
    BREAKS            texts, each part of the reason of some graph break
    BACKWARD          False: do not run backward on the results
    SNAPSHOT          False: only compare with eager, pin nothing
    ALONE             True: eager runs torch.compile, which leaves its traces in the process
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import harness
import pytest

ROOT = Path(__file__).parents[1]
CASES = ROOT / "cases"
SNAPSHOTS = ROOT / "snapshots" / f"py{sys.version_info[0]}.{sys.version_info[1]}"
ALONE = "FERRODYN_TEST_ALONE"
PATHS = sorted(path for path in CASES.glob("*/*.py"))


def _name(path: Path) -> str:
    return str(path.relative_to(CASES).with_suffix(""))


def _run_alone(path: Path) -> None:
    test = f"{__file__}::test_case[{_name(path)}]"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--show-capture=no", test],
        env={**os.environ, ALONE: "1"},
        cwd=ROOT.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


@pytest.mark.parametrize("path", PATHS, ids=_name)
def test_case(path: Path) -> None:
    """The compiled program does what the plain one does, with the expected graphs."""
    case = harness.Case(path)
    if case.get("ALONE") and not harness.REFERENCE and ALONE not in os.environ:
        _run_alone(path)
        return
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
    if harness.REFERENCE:
        graphs = case.get("REFERENCE_GRAPHS", graphs)
    if graphs is not None:
        shown = "\n".join(str(graph.graph) for graph in recorder.graphs)
        assert len(recorder.graphs) == graphs, f"expected {graphs} graphs, got:\n{shown}"
    if not harness.REFERENCE:
        for reason in case.get("BREAKS", ()):
            assert any(reason in text for _, text in breaks), (reason, breaks)


@pytest.mark.own
@pytest.mark.parametrize("path", PATHS, ids=_name)
def test_snapshot(path: Path, request: pytest.FixtureRequest) -> None:
    """Graphs, guards and bytecode are the pinned ones."""
    case = harness.Case(path)
    if not case.get("SNAPSHOT", True):
        pytest.skip("not pinned")
    with harness.captured_logs("graph", "guards", "bytecode", "graph_breaks") as records:
        case.run(harness.compile(case.target(), backend=harness.Recorder()))
    text = "".join(f"== {kind}\n{_stable(body)}\n" for kind, body in records)
    pinned = SNAPSHOTS / f"{_name(path)}.txt"
    if request.config.getoption("--bless"):
        pinned.parent.mkdir(parents=True, exist_ok=True)
        pinned.write_text(text)
        return
    assert pinned.is_file(), f"{pinned} does not exist: run with --bless"
    assert text == pinned.read_text(), f"{pinned} differs: look, then run with --bless"


@pytest.mark.own
def test_no_stale_snapshots() -> None:
    """Every snapshot belongs to a case."""
    names = {_name(path) for path in PATHS}
    stale = [
        str(path)
        for path in SNAPSHOTS.glob("**/*.txt")
        if str(path.relative_to(SNAPSHOTS).with_suffix("")) not in names
    ]
    assert not stale


def _stable(text: str) -> str:
    """Replace what differs from run to run: addresses, ids, times, folders."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(r"\b\d{11,}\b", "<id>", text)
    text = re.sub(r"\d+(\.\d+)? (us|ns|ms)\b", r"<time> \2", text)
    text = re.sub(r"(/[^\s:\"',]+)?/tests/(cases|python)/", r"tests/\2/", text)
    # The count of classes registered with abstract ones so far.
    text = re.sub(r"(___exactly\(___obj\(<id>\)\(\), )\d+\)", r"\1<count>)", text)
    text = re.sub(r"/[^\s:\"',]+/(site-packages|lib/python3\.\d+)/", r"<\1>/", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    # What called the case is the test runner's business.
    runner = r'(User code traceback:\n)(?:(?!  File "tests/cases/).*\n)*?(?=  File "tests/cases/)'
    return re.sub(runner, r"\1", text)

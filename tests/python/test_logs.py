"""FERRODYN_LOGS and ferrodyn.logs."""

from __future__ import annotations

import logging
import os
import re
import subprocess

import forked
import harness
import pytest

if not harness.REFERENCE:
    from ferrodyn import exc, logs
pytestmark = [pytest.mark.own, pytest.mark.once]

PROGRAM = """
import sys, torch, ferrodyn
@ferrodyn.compile(backend="eager")
def f(x):
    y = x + 1
    sys.stdout.write("out\\n")
    return y * 2
f(torch.ones(2)); f(torch.ones(3))
"""


def run(spec: str | None, program: str = PROGRAM) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k != "FERRODYN_LOGS"}
    if spec is not None:
        env["FERRODYN_LOGS"] = spec
    return forked.run(["-c", program], env=env)


def test_parse():
    assert logs.parse("") == set()
    assert logs.parse("graph, guards") == {"graph", "guards"}
    assert logs.parse("+graph") == {"graph"}
    assert logs.parse("all") == set(logs.KINDS)
    assert logs.parse("all,-trace_bytecode,-bytecode") == set(logs.KINDS) - {
        "trace_bytecode",
        "bytecode",
    }
    assert set(logs.KINDS) == {
        "graph", "graph_code", "guards", "bytecode", "graph_breaks", "state", "recompiles",
        "trace_bytecode", "captures"
    }  # fmt: skip


@pytest.mark.parametrize("spec", ["graf", "graph,gards", "-x", "ALL"])
def test_a_wrong_name_lists_the_right_ones(spec):
    with pytest.raises(exc.LogOptionError) as caught:
        logs.parse(spec)
    assert all(kind in str(caught.value) for kind in [*logs.KINDS, "all"])


def test_set_logs_adds_and_removes_its_handler():
    root = logging.getLogger("ferrodyn")
    before = list(root.handlers)
    logs.set_logs("graph")
    try:
        assert logging.getLogger("ferrodyn.graph").isEnabledFor(logging.DEBUG)
        assert not logging.getLogger("ferrodyn.guards").isEnabledFor(logging.DEBUG)
        assert len(root.handlers) == len(before) + 1
        logs.set_logs("guards")
        assert not logging.getLogger("ferrodyn.graph").isEnabledFor(logging.DEBUG)
        assert len(root.handlers) == len(before) + 1
    finally:
        logs.set_logs("")
    assert root.handlers == before and root.propagate


def test_format(capsys):
    logs.set_logs("graph")
    try:
        logging.getLogger("ferrodyn.graph").debug("one\ntwo %d", 2, extra={"compile_id": "0/1"})
        logging.getLogger("ferrodyn").warning("careful")
    finally:
        logs.set_logs("")
    lines = capsys.readouterr().err.splitlines()
    prefix = r"\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ ferrodyn\]"
    assert re.fullmatch(rf"V{prefix} \[0/1\] \[__graph\] one", lines[0])
    assert re.fullmatch(rf"V{prefix} \[0/1\] \[__graph\] two 2", lines[1])
    assert re.fullmatch(rf"W{prefix} careful", lines[2])


@pytest.mark.parametrize("kind", ["graph", "graph_code", "guards", "bytecode", "graph_breaks",
                                  "state", "recompiles", "trace_bytecode"])  # fmt: skip
def test_each_kind_shows_only_itself(kind):
    result = run(kind)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "out\nout\n"
    shown = set(re.findall(r"\[__(\w+)\]", result.stderr))
    assert shown == {kind}, result.stderr


def test_all_and_none():
    shown = set(re.findall(r"\[__(\w+)\]", run("all").stderr))
    # No capture is kept where the cache is off.
    assert shown == set(logs.KINDS) - {"captures"}
    quiet = run(None)
    assert quiet.returncode == 0 and quiet.stderr == ""


def test_a_wrong_name_at_import():
    result = run("grahp")
    assert result.returncode != 0
    assert "unknown log 'grahp'" in result.stderr and "graph_breaks" in result.stderr

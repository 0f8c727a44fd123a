"""`FERRODYN_TRACE` as torch's structured trace: tlparse reads it, and torch's tracer stays away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import pytest

pytestmark = [pytest.mark.own, pytest.mark.once]

#: `cargo xtask test` installs it beside the interpreter.
TLPARSE = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")

PROGRAM = """\
import atexit, sys
# What is registered first runs last, when the trace is written.
atexit.register(lambda: print("tracer", "torch._dynamo" in sys.modules))
import ferrodyn, torch
@ferrodyn.compile(backend="eager")
def f(x, n):
    y = x * len(n)
    ferrodyn.graph_break("on purpose")
    return y.relu() + 1
for n in ("a", "ab"):
    f(torch.ones(2), n)
try:
    ferrodyn.compile(lambda x: open(__file__), backend="eager", fullgraph=True)(torch.ones(2))
except ferrodyn.exc.Unsupported:
    print("refused")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    done = forked.run(
        [program],
        env={
            **os.environ,
            "FERRODYN_TRACE": str(folder / "traces"),
            "RANK": "1",
            "WORLD_SIZE": "2",
        },
    )
    assert (done.returncode, done.stdout) == (0, "refused\ntracer False\n"), done.stderr
    return folder


@pytest.fixture(scope="module")
def trace(folder):
    (path,) = (folder / "traces").glob("*.log")
    # By this name tlparse finds the processes of one run.
    assert path.name.startswith("dedicated_log_torch_trace_rank_1_program.py-")
    return path


def test_every_line_is_of_the_format(trace):
    events = []
    for line in trace.read_text().splitlines():
        if not line.startswith("\t"):
            head, _, metadata = line.partition("] ")
            assert head.startswith("V") and head.endswith("ferrodyn/_trace.py:1")
            events.append(json.loads(metadata))
    assert all(event["rank"] == 1 for event in events)
    kinds = {kind for event in events for kind in event}
    assert {
        "dynamo_start", "dynamo_output_graph", "dynamo_guards", "dynamo_cpp_guards_str",
        "compilation_metrics", "chromium_event", "artifact", "str",
    } <= kinds  # fmt: skip
    metrics = [event["compilation_metrics"] for event in events if "compilation_metrics" in event]
    assert [one["co_name"] for one in metrics] == ["f", "f", "f", "<lambda>"]
    assert metrics[-1]["fail_type"] == "Raised" and "fail_type" not in metrics[0]
    assert metrics[0]["restart_reasons"] == ["Call to `graph_break()`"]


@pytest.mark.skipif(TLPARSE is None, reason="tlparse is not installed (python/checks.txt)")
def test_tlparse_accepts_it(trace, tmp_path):
    out = tmp_path / "out"
    done = subprocess.run(
        [TLPARSE, "--strict", "--strict-compile-id", "--no-browser", "-o", out, trace],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}

    def named(part: str) -> list[str]:
        return [(out / name).read_text() for name in sorted(found) if part in name]

    assert len(named("dynamo_output_graph")) == 3
    assert any("check_tensor" in text for text in named("dynamo_guards"))
    assert any("expected 'a', actual 'ab'" in text for text in named("recompile_reasons"))
    assert any("What to change" in text for text in named("dynamo_graph_break_reason"))
    assert any("__compiled_fn_0(" in text for text in named("ferrodyn_residual_code"))
    (failures,) = named("failures_and_restarts.html")
    assert "graph_break" in failures
    events = json.loads(named("chromium_events.json")[0])
    assert {"tracing", "backend", "guards"} <= {event["name"] for event in events}

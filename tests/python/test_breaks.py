"""Graph breaks: what they cost, and that nothing is traced twice."""

from __future__ import annotations

import gc
import sys
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def _instructions(fn, *args):
    ferrodyn.reset()
    return ferrodyn.explain(fn)(*args).instruction_counts


def _helper(x, stop):
    y = x * 2
    if stop:
        ferrodyn.graph_break()
    return y + 1


def _outer(x, stop):
    try:
        with torch.no_grad():
            y = _helper(x, stop) - 1
            if stop:
                ferrodyn.graph_break()
            y = y * 3
    finally:
        y = y + 1
    return _helper(y, stop)


def test_no_instruction_is_interpreted_again():
    x = torch.ones(2)
    whole = _instructions(_outer, x, False)
    # The call of `graph_break` itself: three breaks, each with the instructions of that statement,
    # and what a resume function does to enter: its prologue, its stack and a jump.
    broken = _instructions(_outer, x, True)
    assert sum(broken.values()) <= sum(whole.values()) + 3 * 4 + 5 * 8


def test_breaks_in_a_loop_do_not_nest():
    depths = []

    @ferrodyn.disable
    def note():
        depth, frame = 0, sys._getframe()
        while frame:
            depth, frame = depth + 1, frame.f_back
        depths.append(depth)

    def loop(x, n):
        for _ in range(n):
            x = x + 1
            note()
            x = x * 2
        return x

    recorder = harness.Recorder()
    compiled = ferrodyn.compile(loop, backend=recorder)
    x = torch.ones(2, dtype=torch.float64)
    n = 3 * sys.getrecursionlimit()
    assert torch.equal(compiled(x, n), loop(x, n))
    assert len(recorder.graphs) == 1
    assert len(set(depths[:n])) == 1, "each iteration at the same depth"


def test_resume_functions_go_with_their_code():
    source = "def f(x):\n    y = x + 1\n    print(end='')\n    return y * 2\n"

    def use():
        space = {}
        exec(source, space)
        f = space.pop("f")
        ferrodyn.compile(f, backend="eager")(torch.ones(2))
        return weakref.ref(f.__code__)

    refs = [use() for _ in range(4)]
    gc.collect()
    assert [r() for r in refs[:-1]] == [None] * 3


def test_long_loops_are_left_to_python():
    def count(n):
        total = 0
        for i in range(n):
            total += i & 3
        return total

    def grow(x, n):
        for _ in range(n):
            x = x + 1
        return x

    ferrodyn.reset()
    with ferrodyn.config.patch(max_plain_instructions=1_000):
        report = ferrodyn.explain(count)(100_000)
        assert report.instruction_counts["instructions"] < 3_000
        assert any("Too many instructions" in b.reason for b in report.break_reasons)
        assert ferrodyn.compile(count)(100_000) == count(100_000)
        # Each round adds to the graph.
        report = ferrodyn.explain(grow)(torch.ones(2), 300)
        assert report.graph_break_count == 0

"""Functions that are one graph are called without a frame of their own: nobody can tell."""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import threading
import traceback

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def fn(x, y=2):
    z = x + y
    return z, z * 2


class Backend:
    """What the graph gives can be changed: `change` gets it."""

    def __init__(self):
        self.change = None

    def __call__(self, graph, inputs):
        def called(*args):
            outputs = graph.forward(*args)
            return outputs if self.change is None else self.change(outputs)

        return called


@pytest.fixture
def backend():
    return Backend()


@pytest.fixture
def call(backend):
    """`fn`, compiled, and called so often that all is as it will be."""
    compiled = ferrodyn.compile(fn, backend=backend)
    for _ in range(3):
        compiled(X)
    return compiled


X = torch.arange(3.0)


def frames(error):
    return [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]


def same(results, expected):
    assert type(results) is tuple and len(results) == len(expected)
    return all(torch.equal(a, b) for a, b in zip(results, expected, strict=True))


@pytest.mark.parametrize("made", [tuple, list, iter, lambda outputs: (t for t in outputs)])
def test_outputs_of_any_kind(call, backend, made):
    backend.change = made
    for _ in range(3):
        assert same(call(X), fn(X))


def test_a_graph_that_gives_no_tuple_keeps_the_frame(call, backend):
    """Running the code once more at each call would cost more than it."""
    names = []
    backend.change = lambda outputs: names.append(sys._getframe(2).f_code.co_name) or iter(outputs)
    for _ in range(3):
        assert same(call(X), fn(X))
    assert names[1:] == ["fn", "fn"]


def test_each_call_gives_a_tuple_of_its_own(call, backend):
    held = fn(X)
    backend.change = lambda outputs: held
    results = call(X)
    assert results is not held and results[0] is held[0]
    assert results is not call(X)


def test_outputs_in_another_order():
    def swapped(a, b):
        c = a + b
        return c * 2, c

    compiled = ferrodyn.compile(lambda b, a: swapped(a, b), backend=Backend())
    for _ in range(3):
        assert same(compiled(X, X + 1), swapped(X + 1, X))


def test_an_exception_passes_through_the_frame(call, backend):
    def change(outputs):
        raise ValueError("of the graph")

    backend.change = change
    for _ in range(3):
        with pytest.raises(ValueError, match="of the graph") as info:
            call(X)
        assert [name for name, _ in frames(info.value)][-3:] == ["fn", "called", "change"]
        assert info.value.__context__ is None
        frame = traceback.walk_tb(info.value.__traceback__)
        local = [f.f_locals for f, _ in frame if f.f_code.co_name == "fn"]
        assert local[0]["x"] is X and local[0]["y"] == 2
    backend.change = None
    assert same(call(X), fn(X))


def test_an_exception_inside_of_a_handler(call, backend):
    def change(outputs):
        raise ValueError("of the graph")

    backend.change = change
    cause = KeyError("handled")
    with pytest.raises(ValueError, match="of the graph") as info:
        try:
            raise cause
        except KeyError:
            call(X)
    assert info.value.__context__ is cause


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_outputs_is_an_error_of_the_code(call, backend, count):
    backend.change = lambda outputs: (X,) * count
    with pytest.raises(ValueError, match="unpack") as info:
        call(X)
    assert [name for name, _ in frames(info.value)][-1] == "fn"


def test_no_outputs_at_all(call, backend):
    backend.change = lambda outputs: None
    with pytest.raises(TypeError, match="unpack"):
        call(X)


def test_profilers_and_debuggers_see_the_frame(call):
    seen = []

    def note(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    call(X)
    sys.setprofile(None)
    assert "fn" in seen
    seen.clear()
    call(X)
    assert not seen

    def trace(frame, event, arg):
        note(frame, event, arg)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    call(X)
    sys.settrace(before)
    assert "fn" in seen


def test_cprofile_counts_the_function(call):
    profile = cProfile.Profile()
    profile.enable()
    call(X)
    call(X)
    profile.disable()
    counts = {name: stat[0] for (_, _, name), stat in pstats.Stats(profile).stats.items()}
    assert counts["fn"] == 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 669")
def test_monitoring_tools_see_the_frame(call):
    monitoring, seen = sys.monitoring, []
    monitoring.use_tool_id(4, "test")
    starts = monitoring.events.PY_START
    monitoring.register_callback(4, starts, lambda code, offset: seen.append(code.co_name))
    monitoring.set_events(4, starts)
    call(X)
    monitoring.set_events(4, 0)
    monitoring.register_callback(4, starts, None)
    monitoring.free_tool_id(4)
    assert "fn" in seen
    seen.clear()
    assert same(call(X), fn(X)) and not seen


def test_no_frame_is_there_otherwise(call, backend):
    """What the frame costs is saved."""
    names = []
    backend.change = lambda outputs: names.append(sys._getframe(2).f_code.co_name) or outputs
    call(X)
    assert names == ["test_no_frame_is_there_otherwise"]


def test_the_code_is_forgotten_while_its_graph_runs(call, backend):
    def change(outputs):
        ferrodyn.reset()
        gc.collect()
        return outputs

    backend.change = change
    for _ in range(3):
        assert same(call(X), fn(X))

    def fails(outputs):
        ferrodyn.reset()
        gc.collect()
        raise ValueError("of the graph")

    backend.change = None
    call(X)
    call(X)
    backend.change = fails
    with pytest.raises(ValueError, match="of the graph") as info:
        call(X)
    assert "fn" in [name for name, _ in frames(info.value)]


def test_a_graph_that_calls_its_function(call, backend):
    depth = []

    def change(outputs):
        if len(depth) < 100:
            depth.append(None)
            assert same(call(X), fn(X))
        return outputs

    backend.change = change
    assert same(call(X), fn(X)) and len(depth) == 100


def test_many_threads(call, backend):
    wrong = []
    backend.change = lambda outputs: list(outputs)

    def run():
        for i in range(300):
            if i % 3 == 0:
                ferrodyn.reset()
            x = X + i
            if not same(call(x), fn(x)):
                wrong.append(i)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

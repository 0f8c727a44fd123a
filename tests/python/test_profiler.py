"""`torch.profiler` shows look-ups, compilations and runs of compiled code, by torch's names."""

from __future__ import annotations

import threading

import ferrodyn
import pytest
import torch

pytestmark = [pytest.mark.own]

LOOK_UP = "TorchDynamo Cache Lookup"
X = torch.ones(3)


def profiled(call):
    """Return what is called and the operators that it runs: each span with those around it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    events = sorted(profile.events(), key=lambda e: (e.time_range.start, -e.time_range.end))
    kept = [e for e in events if e.thread == events[0].thread]

    def around(event):
        span = event.time_range
        return [
            other.name
            for other in kept
            if other is not event
            and other.time_range.start <= span.start
            and span.end <= other.time_range.end
        ]

    return [(event.name, around(event)) for event in kept]


def names(call):
    return [name for name, _ in profiled(call) if not name.startswith("aten::")]


def compiled(function):
    return ferrodyn.compile(function, backend="eager")


def test_a_call_shows_its_look_up_and_its_region():
    fn = compiled(lambda x: x.sin() + 1)
    fn(X)
    shown = profiled(lambda: fn(X))
    assert [name for name, _ in shown] == [
        LOOK_UP,
        "Torch-Compiled Region: 0/0",
        "aten::sin",
        "aten::add",
    ]
    assert dict(shown)["aten::add"] == ["Torch-Compiled Region: 0/0"]
    assert fn(X).equal(X.sin() + 1)


def test_compilations_are_shown_with_the_backend_in_them():
    def adds(x):
        return x + 1

    fn = compiled(adds)
    shown = profiled(lambda: fn(X))
    at = [name for name, _ in shown]
    assert at[0] == LOOK_UP and "Torch-Compiled Region: 0/0" in at
    around = dict(shown)["Ferrodyn Backend: __compiled_fn_0 [0/0]"]
    assert around == ["Ferrodyn Compilation: 0/0 adds"]
    assert at.index("Ferrodyn Compilation: 0/0 adds") < at.index("Torch-Compiled Region: 0/0")


def test_every_way_of_a_call_is_shown():
    def breaks(x):
        x = x + 1
        ferrodyn.graph_break()
        return x * 2

    def several(x, *more, k=1, **names):
        return x * k + len(more)

    class Net(torch.nn.Linear):
        pass

    fn, many, net = compiled(breaks), compiled(several), compiled(Net(3, 3))
    calls = [lambda: fn(X), lambda: many(X, 1, k=2, other=3), lambda: net(X)]
    for call in calls:
        call()
    # A resume function is looked up and run as well.
    assert names(calls[0]) == [
        *(LOOK_UP, "Torch-Compiled Region: 0/0"),
        *(LOOK_UP, "Torch-Compiled Region: 1/0"),
    ]
    for call, number in zip(calls[1:], (2, 3), strict=True):
        assert names(call) == [LOOK_UP, f"Torch-Compiled Region: {number}/0"]


def test_frames_below_a_region_are_shown():
    def callee(x):
        return x + 1

    @torch._dynamo.disable(recursive=False)
    def shallow(x):
        return callee(x) * 2

    fn = compiled(lambda x: shallow(x) + 1)
    fn(X)
    shown = names(lambda: fn(X))
    assert shown.count(LOOK_UP) == sum(name.startswith("Torch-Compiled") for name in shown) > 1


def test_what_raises_ends_its_span():
    def raises(x):
        y = x + 1
        ferrodyn.graph_break()
        raise ValueError("of the program")

    fn = compiled(raises)

    def call():
        with pytest.raises(ValueError, match="of the program"):
            fn(X)
        X + 1

    call()
    # What runs afterwards is in no span.
    assert ("aten::add", []) in profiled(call)


def test_nothing_is_measured_before_and_after():
    fn = compiled(lambda x: x + 1)
    fn(X)
    with torch.profiler.profile():
        fn(X)
    with torch.autograd.profiler.emit_itt(enabled=False):
        fn(X)
    assert names(lambda: None) == []
    assert not torch.autograd.profiler._is_profiler_enabled
    assert names(lambda: fn(X)) == [LOOK_UP, "Torch-Compiled Region: 0/0"]


def test_stances_hold_while_it_measures():
    fn = compiled(lambda x: x + ferrodyn.is_compiling())
    fn(X)
    with torch.compiler.set_stance("force_eager"):
        assert names(lambda: fn(X)) == []
    assert names(lambda: fn(X)) == [LOOK_UP, "Torch-Compiled Region: 0/0"]
    with torch.compiler.set_stance("fail_on_recompile"), torch.profiler.profile():
        with pytest.raises(ferrodyn.exc.RecompileError):
            fn(torch.ones(3, dtype=torch.int64))


def test_threads_call_while_it_begins_and_ends():
    fn = compiled(lambda x: x.sin() + 1)
    expected, wrong, stop = fn(X), [], threading.Event()

    def calls():
        while not stop.is_set():
            if not fn(X).equal(expected):
                wrong.append("a result")

    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        with torch.profiler.profile():
            fn(X)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong

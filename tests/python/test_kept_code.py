"""Compiled code is found again by who compiles the function anew, and goes with its backend."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own
X = torch.ones(3)


class Counter:
    """A backend that counts how often it is called."""

    def __init__(self):
        self.count = 0

    def __call__(self, graph, inputs):
        self.count += 1
        return graph.forward

    def compiles(self, graph, inputs):
        return self(graph, inputs)


def function(x):
    return x * 3


def inner():
    def made(x):
        return x + 1

    return made


@pytest.mark.parametrize("made", [lambda: function, inner])
@pytest.mark.parametrize("of", [lambda c: c, lambda c: c.compiles], ids=["object", "method"])
def test_a_function_that_is_compiled_at_each_step(made, of):
    counter = Counter()
    for _ in range(4):
        fn = made()
        assert torch.equal(ferrodyn.compile(fn, backend=of(counter))(X), fn(X))
    assert counter.count == 1


def test_ever_new_modules():
    """The second one tells that parameters are no part of the code."""
    counter = Counter()
    for _ in range(5):
        module = torch.nn.Linear(3, 3)
        assert torch.equal(ferrodyn.compile(module, backend=counter)(X), module(X))
    assert counter.count <= 2


def test_equal_options_share_code_and_others_do_not():
    counter = Counter()

    def backend(graph, inputs, options):
        return counter(graph, inputs)

    for options in ({"level": 1}, {"level": 1}, {"level": 2}, {"level": True}):
        ferrodyn.compile(function, backend=backend, options=options)(X)
    assert counter.count == 3
    for _ in range(2):
        ferrodyn.compile(function, backend=counter, isolate_recompiles=True)(X)
    assert counter.count == 5


def closure():
    large = torch.zeros(3)

    def backend(graph, inputs):
        large.add_(1)
        return graph.forward

    return backend


@pytest.mark.parametrize("make", [Counter, closure])
def test_a_backend_goes_with_its_last_user(make):
    backend = make()
    gone = weakref.ref(backend)
    ferrodyn.compile(function, backend=backend)(X)
    del backend
    gc.collect()
    assert gone() is None


def test_a_copy_of_a_backend_begins_without_code():
    counter = Counter()
    ferrodyn.compile(function, backend=counter)(X)
    for other in (pickle.loads(pickle.dumps(counter)), copy.deepcopy(counter)):
        ferrodyn.compile(function, backend=other)(X)
        assert (other.count, counter.count) == (2, 1)


def test_a_reset_forgets_what_is_kept():
    counter = Counter()
    for _ in range(2):
        ferrodyn.compile(function, backend=counter)(X)
        ferrodyn.reset()
    assert counter.count == 2


def region(compiled):
    """Return the name of what a call runs, as `torch.profiler` shows it."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(X)
    (name,) = [e.name for e in profile.events() if e.name.startswith("Torch-Compiled Region")]
    return name.rpartition(" ")[2]


@pytest.mark.parametrize("backend", ["eager", Counter()])
def test_numbers_of_functions_begin_anew_after_a_reset(backend):
    shown = []
    for functions in ((function,), (inner(), function)):
        for fn in functions:
            compiled = ferrodyn.compile(fn, backend=backend)
            compiled(X)
            shown.append(region(compiled))
        ferrodyn.reset()
    assert shown == ["0/0", "0/0", "1/0"]

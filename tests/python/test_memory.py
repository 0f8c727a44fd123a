"""No crash, leak or growth: references, blocks, collection at every allocation, debug malloc."""

from __future__ import annotations

import gc
import logging
import os
import sys
import weakref

import forked
import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own

PROGRAM = """
import gc, io, sys
import torch, ferrodyn

BUFFER = io.BytesIO()

class State:
    def __init__(self):
        self.n = 0

def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

def effects(state, items, x):
    state.n += 1
    items.append(x + state.n)
    torch.save(x, BUFFER)
    items.append({"k": [x * 2]})
    return items

def raises(x, n):
    y = x + 1
    try:
        if n:
            raise ValueError("n")
    finally:
        y = y * 2
    return y

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

def main(rounds):
    backend = lambda gm, inputs: gm.forward
    toy = ferrodyn.compile(toy_example, backend=backend)
    eff = ferrodyn.compile(effects, backend=backend)
    err = ferrodyn.compile(raises, backend=backend)
    net = Net()
    compiled = ferrodyn.compile(net, backend=backend)
    for i in range(rounds):
        a, b = torch.randn(10), torch.randn(10)
        assert torch.equal(toy(a, b), toy_example(a, b))
        BUFFER.seek(0)
        state, items = State(), []
        eff(state, items, a)
        assert state.n == 1 and len(items) == 2 and torch.equal(items[0], a + 1)
        for n in (0, 1):
            try:
                err(a, n)
            except ValueError:
                assert n
        x = torch.randn(2, 3)
        assert torch.equal(compiled(x), net(x))
        if i % 2:
            ferrodyn.reset()
    print("done")
"""


def run(tail: str, head: str = PROGRAM, **env: str) -> None:
    result = forked.run(["-c", head + tail], env={**os.environ, **env})
    assert result.returncode == 0, result.stderr[-4000:]
    assert result.stdout.endswith("done\n")


REPLACED_METHOD = """
import gc
import torch, ferrodyn

class Graph:
    def __init__(self, graph):
        self.forward = graph.forward
    def __call__(self, *args):
        return self.forward(*args)
    def __del__(self):
        # As other threads may, while a tensor is freed.
        seen.append(float(lookup()))

seen = []
# Nothing but the class holds the code of its method.
exec("def helper(self, x): return x + 1")
exec("class Model: run = helper")

def lookup():
    return Model().run(torch.ones(()))

def replace(fn):
    global Model
    for _ in range(20):
        lookup()
    Model.run = lambda self, x: x + 2
    lookup()
    assert seen == [3.0], seen
    print("done")
"""

#: Compiled code goes with the function: its own (others call it as plain Python), or its caller's.
OWN_CODE = """
def make():
    class State:
        k = 1
    return State()

state = make()

def calls(model, x):
    # A loop that breaks goes on in eager mode, and what it calls is compiled by itself.
    for _ in range(state.k):
        ferrodyn.graph_break()
        x = model.run(x)
    return x

del helper
fn = ferrodyn.compile(calls, backend=lambda graph, inputs: Graph(graph))
for x in (torch.ones(2), torch.ones(2)):
    fn(Model(), x)
del state
gc.collect()
seen.clear()
replace(fn)
"""
CODE_OF_THE_CALLER = """
def calls(x):
    return helper(None, x)

fn = ferrodyn.compile(calls, backend=lambda graph, inputs: Graph(graph))
fn(torch.ones(()))
del helper
replace(fn)
"""


@pytest.mark.parametrize("program", [OWN_CODE, CODE_OF_THE_CALLER], ids=["own", "caller"])
def test_compiled_code_that_goes_with_a_replaced_method(program):
    """While a class lets go of a method, the interpreter's caches lead to it still."""
    run(program, REPLACED_METHOD)


REPLACED_DEFAULT = """
import torch, ferrodyn

def make():
    y = torch.ones(2)
    def f(x, y=y):
        return x + y
    return f

f, fails = make(), False

def backend(graph, inputs):
    def run(x, y):
        if fails:
            f.__defaults__ = (torch.zeros(2),)
            del y
            raise ValueError("no")
        return graph.forward(x, y)
    return run

fn = ferrodyn.compile(f, backend=backend)
for _ in range(3):
    fn(torch.ones(2))
fails = True
for _ in range(3):
    try:
        fn(torch.ones(2))
    except ValueError:
        f.__defaults__ = (torch.ones(2),)
print("done")
"""


def test_a_default_that_is_replaced_while_the_graph_raises():
    """The frame that the exception passes through has it as a local variable."""
    run(REPLACED_DEFAULT, "", PYTHONMALLOC="debug")


def test_debug_malloc():
    run("main(6)", PYTHONMALLOC="debug")


@pytest.mark.slow
def test_collection_at_every_allocation():
    run("gc.freeze(); gc.set_threshold(1, 1, 1); main(2)")


@pytest.mark.parametrize("threshold", [2, 7, 50])
def test_collection_at_many_allocations(threshold):
    run(f"gc.freeze(); gc.set_threshold({threshold}); main(2)")


def test_development_mode():
    run("main(4)", PYTHONDEVMODE="1")


def _steady(step, rounds: int = 40) -> None:
    """Blocks in use do not grow with the number of rounds."""
    for _ in range(10):
        step()
    counts = []
    for _ in range(4):
        for _ in range(rounds):
            step()
        gc.collect()
        counts.append(sys.getallocatedblocks())
    # The last three: caches may still fill during the first.
    assert counts[3] - counts[1] < rounds, counts


def test_calls_do_not_grow():
    compiled = ferrodyn.compile(lambda x: x + 1, backend="eager")
    x = torch.ones(2)
    _steady(lambda: compiled(x), 500)


def test_calls_with_breaks_and_effects_do_not_grow():
    def f(x, items):
        items.append(x + 1)
        if x.sum() > 0:
            items.append(2)
        return [x * 2, items]

    compiled = ferrodyn.compile(f, backend="eager")
    x = torch.ones(2)
    _steady(lambda: compiled(x, []), 200)


def test_exceptions_do_not_grow():
    def f(x):
        y = x + 1
        raise ValueError(y)

    compiled = ferrodyn.compile(f, backend="eager")
    x = torch.ones(2)

    def step():
        with pytest.raises(ValueError):
            compiled(x)

    _steady(step, 100)


@pytest.mark.slow
def test_compilations_do_not_grow(monkeypatch):
    def f(x):
        return x * 2 + 1

    # A backend that runs no generated code: torch.fx keeps the source of each module whose code
    # it generates for as long as the process lives.
    compiled = ferrodyn.compile(f, backend=lambda gm, inputs: lambda x: (x * 2 + 1,))
    x = torch.ones(2)

    def step():
        ferrodyn.reset()
        compiled(x)

    # torch writes records of what a backend is handed, all of which pytest keeps.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    _steady(step, 200)


def test_failed_guards_do_not_grow():
    compiled = ferrodyn.compile(lambda x, n: x + n, backend="eager")
    x = torch.ones(2)
    with ferrodyn.config.patch(recompile_limit=2):
        compiled(x, 0)
        compiled(x, 1)
        _steady(lambda: compiled(x, 5), 200)


def test_inputs_and_results_are_not_kept():
    compiled = ferrodyn.compile(lambda x: x + 1, backend="eager")
    x = torch.ones(1000)
    result = compiled(x)
    dead = weakref.ref(x), weakref.ref(result)
    before = sys.getrefcount(x)
    compiled(x)
    assert sys.getrefcount(x) == before
    del x, result
    gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_modules_are_not_kept():
    model = torch.nn.Linear(3, 3)
    compiled = ferrodyn.compile(model, backend="eager")
    compiled(torch.ones(3))
    dead = weakref.ref(model), weakref.ref(model.weight)
    del model, compiled
    gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_closures_and_instances_are_not_kept():
    class K:
        pass

    def make():
        k = K()
        k.scale = 2

        def f(x):
            return x * k.scale

        return f, k

    f, k = make()
    compiled = ferrodyn.compile(f, backend="eager")
    compiled(torch.ones(2))
    dead = weakref.ref(f), weakref.ref(k)
    del f, k, compiled
    gc.collect()
    assert [ref() for ref in dead] == [None, None]

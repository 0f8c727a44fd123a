"""Several threads call, compile and change the same functions.

`FERRODYN_STRESS=1000000` is the number of calls of the stress test; by default it ends after some
seconds.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own

THREADS = 4


def together(bodies):
    """Run each body in a thread of its own; raise what the first of them raised."""
    errors = []
    start = threading.Barrier(len(bodies))

    def run(body):
        try:
            start.wait()
            body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class SlowBackend:
    """Compiles slowly, and counts how many compilations there were, and how many at one time."""

    def __init__(self):
        self.compiled = self.now = self.most = 0

    def __call__(self, graph, inputs):
        self.compiled += 1
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(0.1)
        self.now -= 1
        return graph.forward


def test_only_the_thread_that_compiles_sees_that_it_does():
    """Another thread's plain code must not take the branch of compiled code."""
    seen, both = [], threading.Barrier(2)

    def asks():
        return bool(torch.compiler.is_compiling()), ferrodyn.is_compiling()

    def backend(graph, inputs):
        both.wait(10)
        seen.append(asks())
        both.wait(10)
        return graph.forward

    def plain():
        both.wait(10)
        seen.append(asks())
        both.wait(10)

    fn = ferrodyn.compile(lambda x: x + 1, backend=backend)
    together([lambda: fn(torch.ones(2)), plain])
    assert sorted(seen) == [(False, False), (True, True)]
    assert torch.compiler.is_compiling() is False


def test_a_flag_that_a_program_kept_gives_way(monkeypatch):
    """No lock is held while the flag of before is asked, and what was there before comes back.

    torch's own context manager keeps the flag, and sets it when its generator is let go.
    """
    kept, seen = [], []

    def backend(graph, inputs):
        kept.append(torch.compiler._is_compiling_flag)
        other = threading.Thread(target=lambda: seen.append(bool(torch.compiler.is_compiling())))
        other.start()
        other.join(20)
        return graph.forward

    ferrodyn.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    monkeypatch.setattr(torch.compiler, "_is_compiling_flag", kept[0])
    assert not torch.compiler.is_compiling()
    ferrodyn.compile(lambda x: x + 2, backend=backend)(torch.ones(2))
    assert seen == [False, False]
    assert torch.compiler._is_compiling_flag is False


def test_two_threads_that_compile_leave_the_flag_as_it_was():
    both = threading.Barrier(2)

    def backend(last):
        def run(graph, inputs):
            both.wait(10)
            if last:
                time.sleep(0.2)
            assert torch.compiler.is_compiling()
            return graph.forward

        return run

    fns = [ferrodyn.compile(lambda x: x + 1, backend=backend(last)) for last in (False, True)]
    together([lambda fn=fn: fn(torch.ones(2)) for fn in fns])
    assert torch.compiler.is_compiling() is False


@pytest.mark.parametrize("wait", [False, True])
def test_one_thread_compiles(wait):
    backend = SlowBackend()
    plain = []

    def fn(x):
        if not torch.compiler.is_compiling():
            plain.append(threading.get_ident())
        return x * 2 + 1

    entry = ferrodyn.compile(fn, backend=backend)
    x = torch.randn(3)
    results = []
    with ferrodyn.config.patch(wait_for_compilation=wait):
        together([lambda: results.append(entry(x))] * THREADS)
    assert all(torch.equal(result, x * 2 + 1) for result in results) and len(results) == THREADS
    assert (backend.compiled, backend.most) == (1, 1)
    # A thread that comes late finds compiled code.
    assert len(plain) < (1 if wait else THREADS)
    entry(x)
    assert backend.compiled == 1


def test_a_waiting_thread_that_needs_another_entry_compiles_it():
    backend = SlowBackend()
    entry = ferrodyn.compile(lambda x: x + 1, backend=backend)
    xs = [torch.ones((2,) * (n + 1)) for n in range(THREADS)]
    with ferrodyn.config.patch(wait_for_compilation=True):
        together([lambda x=x: entry(x) for x in xs])
    assert (backend.compiled, backend.most) == (THREADS, 1)


def test_a_compilation_that_fails_lets_the_others_on():
    def broken(graph, inputs):
        time.sleep(0.05)
        raise RuntimeError("no")

    entry = ferrodyn.compile(lambda x: x + 1, backend=broken)
    failures = []

    def call():
        try:
            entry(torch.ones(2))
        except Exception as error:
            failures.append(type(error).__name__)

    with ferrodyn.config.patch(wait_for_compilation=True):
        together([call] * THREADS)
    assert failures == ["BackendCompilerFailed"] * THREADS


class State:
    scale = 1


STATE = State()
SCALES = (1.0, 2.0, 3.0)
FACTOR = 1.0


def by_state(x):
    return x * STATE.scale


def by_global(x, *, plus=0):
    return x * FACTOR + plus


def branches(x):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y * 3


def closure(n):
    def fn(x):
        return x + n

    return fn


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = 1.0

    def forward(self, x):
        return x * self.gain


def backend(graph, inputs):
    return graph.forward


def stress(calls, seconds):
    """Call and change from all threads; return how many calls were made."""
    global FACTOR
    net = Net()
    entries = {
        fn.__name__: ferrodyn.compile(fn, backend=backend) for fn in (by_state, by_global, branches)
    }
    module = ferrodyn.compile(net, backend=backend)
    closures = [ferrodyn.compile(closure(n), backend=backend) for n in range(3)]
    made = [0] * THREADS
    end = time.monotonic() + seconds
    allowed = {scale: torch.full((2,), scale) for scale in SCALES}

    def is_allowed(result, plus=0.0):
        return any(torch.equal(result - plus, value) for value in allowed.values())

    def body(index):
        global FACTOR
        one = torch.ones(2)
        negative = torch.full((2,), -5.0)
        sizes = [torch.ones(n) for n in range(1, 5)]
        n = 0
        while made[index] < calls / THREADS and time.monotonic() < end:
            n += 1
            assert is_allowed(entries["by_state"](one))
            assert is_allowed(entries["by_global"](one, plus=index), index)
            assert is_allowed(module(one))
            assert torch.equal(entries["branches"](one), one * 4)
            assert torch.equal(entries["branches"](negative), negative * 3 + 3)
            size = sizes[n % 4]
            assert torch.equal(closures[n % 3](size), size + n % 3)
            made[index] += 6
            if n % 50 == index:
                STATE.scale = SCALES[n % 3]
                FACTOR = SCALES[(n + 1) % 3]
                net.gain = SCALES[(n + 2) % 3]
            if n % 4000 == 999 * (index + 1):
                ferrodyn.reset()

    together([lambda i=i: body(i) for i in range(THREADS)])
    return sum(made)


@pytest.mark.slow
def test_threads_that_call_change_and_recompile():
    calls = int(os.environ.get("FERRODYN_STRESS", "0"))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        with ferrodyn.config.patch(recompile_limit=64, accumulated_recompile_limit=10_000_000):
            stress(4000, 5)
            gc.collect()
            before = sys.getallocatedblocks()
            made = stress(calls or 20_000, 3600 if calls else 8)
            ferrodyn.reset()
            gc.collect()
            after = sys.getallocatedblocks()
    finally:
        sys.setswitchinterval(interval)
    print(f"{made} calls, {after - before} blocks more")
    assert made >= calls
    assert after - before < 5000


class Twice:
    k = 2


class Watched(Twice):
    k = 1

    def run(self, x):
        return x * self.k


class Slotted:
    __slots__ = ("k",)


def scaled(x, k=1, *, m=1):
    return x * k * m


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("offset", torch.zeros(2))
        self.act = torch.nn.Sequential(torch.nn.ReLU())

    def forward(self, x):
        return self.act(x * self.weight + self.offset)


def test_threads_that_change_what_is_watched():
    """Classes, slots, code, dictionaries, cells and modules change while others call."""
    calls = int(os.environ.get("FERRODYN_STRESS", "0"))
    end = time.monotonic() + (3600 if calls else 6)
    watched, slotted, layer = Watched(), Slotted(), Layer()
    slotted.k = 1
    table, items, cell = {"k": 1}, [1], 1
    codes = [scaled.__code__, (lambda x, k=1, *, m=1: x * m * k).__code__]

    def fn(x):
        first = (watched.run(x), x * slotted.k, scaled(x), x * table["k"], x * items[0], x * cell)
        return (*first, layer(x))

    def change(which, n):
        nonlocal cell
        match which:
            case 0:
                watched.k = n
            case 1:
                watched.__dict__.pop("k", None)
            case 2:
                Watched.k = n
            case 3:
                Watched.run = [lambda self, x: x * self.k, lambda self, x: x * 2][n % 2]
            case 4:
                slotted.k = n
            case 5:
                scaled.__code__ = codes[n % 2]
            case 6:
                scaled.__defaults__ = (n,)
            case 7:
                scaled.__kwdefaults__ = {"m": 1}
            case 8:
                table["k"] = n
            case 9:
                items[0] = n
            case 10:
                cell = n
            case 11:
                layer.weight = torch.nn.Parameter(torch.full((2,), float(n)))
            case 12:
                layer.act = torch.nn.Sequential([torch.nn.ReLU, torch.nn.Identity][n % 2]())
            case 13:
                watched.__dict__ = {"k": n}
            case 14:
                layer.train(n % 2 == 0)

    entry = ferrodyn.compile(fn, backend=backend)
    allowed = {(float(n),) * 2 for n in (1, 2, 3)}
    made = [0] * THREADS

    def body(index):
        draws = random.Random(index)
        one = torch.ones(2)
        while made[index] < (calls or 20_000) / THREADS and time.monotonic() < end:
            results = {tuple(result.tolist()) for result in entry(one)}
            assert results <= allowed
            made[index] += 1
            if draws.random() < 0.01:
                change(draws.randrange(15), draws.choice((1, 2, 3)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        with ferrodyn.config.patch(recompile_limit=16, accumulated_recompile_limit=10_000_000):
            together([lambda i=i: body(i) for i in range(THREADS)])
    finally:
        sys.setswitchinterval(interval)
    assert sum(made) >= calls

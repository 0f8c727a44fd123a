"""Compiled functions under tracers, debuggers, collectors, threads and processes."""

# ruff: noqa: E501
from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import types
import weakref

import harness
import pytest
import torch
from interplay import X, c

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def work(x, n):
    total = x
    for i in range(n):
        total = total + helper(x, i)
        print("", end="")
    return total


def helper(x, i):
    return x * i


@pytest.mark.parametrize("kind", ["trace", "profile", "threading"])
def test_trace_and_profile(kind):
    events = []

    def hook(frame, event, arg):
        events.append((event, frame.f_code.co_name))
        return hook

    compiled = c(work)
    want = work(X, 3)
    compiled(X, 3)
    if kind == "trace":
        sys.settrace(hook)
    elif kind == "profile":
        sys.setprofile(hook)
    else:
        threading.settrace(hook)
    try:
        if kind == "threading":
            results = []
            thread = threading.Thread(target=lambda: results.append(compiled(X, 3)))
            thread.start()
            thread.join()
            got = results[0]
        else:
            got = compiled(X, 3)
            fresh = c(lambda x: helper(x, 2) + 1)(X)
            assert torch.equal(fresh, X * 2 + 1)
    finally:
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
    assert torch.equal(got, want) and events


@torch._dynamo.disable
def keep_codes(codes):
    """Keep the code of all frames that are running."""
    frame = sys._getframe(1)
    while frame is not None:
        codes[id(frame.f_code)] = frame.f_code
        frame = frame.f_back


def elsewhere(x, codes):
    y = x + 1
    keep_codes(codes)
    return y * 2


def calls_elsewhere(x, codes):
    keep_codes(codes)
    # The break in there reads the globals that it has for itself: a constant of the code.
    return ELSEWHERE(x, codes) + 1


ELSEWHERE = types.FunctionType(elsewhere.__code__, dict(globals()))


def test_code_is_a_key_whatever_its_constants():
    codes = {}
    compiled = c(calls_elsewhere)
    for _ in range(2):
        assert torch.equal(compiled(X, codes), calls_elsewhere(X, {}))
    made = [code for code in codes.values() if type(code.co_consts) is not tuple]
    assert any(type(value).__hash__ is None for code in made for value in code.co_consts)
    assert len(dict.fromkeys(made)) == len(made) > 2
    assert all(code.replace() == code and hash(code.replace()) == hash(code) for code in made)
    keys = {}
    sys.setprofile(lambda frame, event, arg: keys.setdefault(frame.f_code, event))
    try:
        compiled(X, codes)
    finally:
        sys.setprofile(None)
    assert keys


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_monitoring():
    monitoring = sys.monitoring
    lines = []
    monitoring.use_tool_id(3, "ferrodyn test")
    try:
        events = monitoring.events
        for event in (events.LINE, events.PY_START, events.PY_RETURN, events.CALL, events.JUMP):
            monitoring.register_callback(3, event, lambda *a: lines.append(a) or None)
        monitoring.set_events(
            3, events.LINE | events.PY_START | events.PY_RETURN | events.CALL | events.JUMP
        )
        compiled = c(work)
        for _ in range(3):
            got = compiled(X, 3)
    finally:
        monitoring.set_events(3, 0)
        monitoring.free_tool_id(3)
    assert torch.equal(got, work(X, 3)) and lines
    assert torch.equal(compiled(X, 3), work(X, 3))


def run(program: str, *options: str, **env: str) -> str:
    result = subprocess.run(
        [sys.executable, "-X", "faulthandler", *options, "-c", textwrap.dedent(program)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]
    return result.stdout


def test_pdb():
    out = run(
        """
        import io, pdb, torch, ferrodyn
        def f(x):
            y = x + 1
            breakpoint()
            return y * 2
        import sys
        debugger = pdb.Pdb(stdin=io.StringIO("p y.sum()\\nnext\\ncontinue\\n" * 4), stdout=sys.stdout)
        sys.breakpointhook = debugger.set_trace
        g = ferrodyn.compile(f, backend="eager")
        for _ in range(2):
            assert torch.equal(g(torch.ones(2)), torch.ones(2) * 4)
        print("right")
        """
    )
    assert "tensor(4.)" in out and out.endswith("right\n")


# Memory and processes


def test_frozen_collector():
    compiled = c(work)
    compiled(X, 2)
    gc.freeze()
    try:
        assert torch.equal(compiled(X, 3), work(X, 3))
        ferrodyn.reset()
        assert torch.equal(compiled(X, 3), work(X, 3))
    finally:
        gc.unfreeze()
    gc.collect()


@pytest.mark.slow
def test_hundreds_of_recompilations_do_not_grow(monkeypatch):
    def f(x, n):
        return x * n + 1

    # No generated code: torch.fx keeps its source.
    compiled = ferrodyn.compile(f, backend=lambda g, i: lambda *args: (X,))
    counts = []
    # torch writes records of what a backend is handed, all of which pytest keeps.
    monkeypatch.setattr(logging.getLogger("torch.__trace"), "disabled", True)
    with ferrodyn.config.patch(recompile_limit=8, accumulated_recompile_limit=10**9):
        for _ in range(5):
            for i in range(100):
                # The same numbers in each part: torch keeps what fake tensors do with each.
                compiled(X, i)
                if i % 5 == 4:
                    ferrodyn.reset()
            gc.collect()
            counts.append(sys.getallocatedblocks())
    assert counts[-1] - counts[1] < 250, counts


def test_modules_functions_and_globals_die():
    def make():
        namespace = {"torch": torch, "__name__": "dying"}
        exec(
            "class K: pass\nk = K()\nk.n = 2\ndef f(x):\n    return x * k.n\n"
            "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.p = torch.nn.Parameter(torch.ones(3))\n"
            "    def forward(self, x):\n        return f(x) * self.p\n",
            namespace,
        )
        return namespace

    namespace = make()
    model = namespace["M"]()
    compiled = c(model)
    compiled(X)
    dead = [weakref.ref(model), weakref.ref(model.p), weakref.ref(compiled)]
    del model, compiled
    gc.collect()
    assert [ref() for ref in dead] == [None] * 3
    function = c(namespace["f"])
    function(X)
    dead = [weakref.ref(function)]
    del function
    gc.collect()
    assert dead[0]() is None


def test_results_and_inputs_keep_their_counts():
    compiled = c(lambda x, items: (x + 1, items))
    items = [1, 2]
    x = X.clone()
    compiled(x, items)
    counts = sys.getrefcount(x), sys.getrefcount(items)
    for _ in range(50):
        compiled(x, items)
    assert (sys.getrefcount(x), sys.getrefcount(items)) == counts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    out = run(
        """
        import os, torch, ferrodyn
        torch.set_num_threads(1)
        def f(x, n):
            return x * n
        g = ferrodyn.compile(f, backend="eager")
        g(torch.ones(2), 2)
        child = os.fork()
        ok = torch.equal(g(torch.ones(2), 2), torch.ones(2) * 2) and torch.equal(g(torch.ones(2), 3), torch.ones(2) * 3)
        if child == 0:
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0 and ok
        print("right")
        """
    )
    assert out == "right\n"


def doubled(x):
    return x * 2 + 1


def spawned(queue):
    compiled = ferrodyn.compile(doubled, backend="eager")
    queue.put(compiled(torch.ones(2)).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=spawned, args=(queue,))
    process.start()
    assert queue.get(timeout=120) == [3.0, 3.0]
    process.join()
    assert process.exitcode == 0


class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.transform = None

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if self.transform is None:
            self.transform = ferrodyn.compile(doubled, backend="eager")
        return self.transform(torch.full((2,), float(i)))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader(workers):
    loader = torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=workers)
    got = torch.cat(list(loader))
    assert torch.equal(got, torch.arange(4.0)[:, None].expand(4, 2) * 2 + 1)


def test_subinterpreter_does_not_break_the_main_one():
    out = run(
        """
        import torch, ferrodyn
        g = ferrodyn.compile(lambda x: x + 1, backend="eager")
        g(torch.ones(2))
        try:
            import _xxsubinterpreters as sub
        except ImportError:
            import _interpreters as sub
        other = sub.create()
        try:
            sub.run_string(other, "a = 1 + 1\\ntry:\\n    import ferrodyn\\nexcept BaseException:\\n    pass")
        except BaseException:
            pass
        sub.destroy(other)
        assert torch.equal(g(torch.ones(2)), torch.ones(2) + 1)
        assert torch.equal(g(torch.ones(3)), torch.ones(3) + 1)
        print("right")
        """
    )
    assert out.endswith("right\n")


def test_threads_share_a_function():
    compiled = c(work)
    wrong = []

    def run_one(n):
        for i in range(20):
            if not torch.equal(compiled(X, (n + i) % 4), work(X, (n + i) % 4)):
                wrong.append((n, i))

    threads = [threading.Thread(target=run_one, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

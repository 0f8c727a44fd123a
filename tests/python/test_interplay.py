"""Compiled functions and modules under everything else that a program may do with them."""

# ruff: noqa: E501
from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def backend(graph, inputs):
    return graph.forward


def c(f=None, **choices):
    return ferrodyn.compile(f, backend=backend, **choices)


@pytest.fixture(autouse=True)
def fresh():
    ferrodyn.reset()
    yield


X = torch.arange(3.0)


def same(compiled, plain, *args, **kwargs):
    """Results of two calls are plain's."""
    for _ in range(2):
        want, got = plain(*args, **kwargs), compiled(*args, **kwargs)
        assert type(want) is type(got)
        torch.testing.assert_close(got, want, rtol=0, atol=0)


# What can be compiled


def module_function(x, k=2, *rest, m=1, **more):
    """Doc."""
    return x * k + m + len(rest) + len(more)


class Callable:
    scale = 3

    def __init__(self, k=2):
        self.k = k

    def __call__(self, x, y=1):
        return x * self.k + y

    def method(self, x):
        return x * self.k

    @classmethod
    def of_class(cls, x):
        return x * cls.scale

    @staticmethod
    def static(x):
        return x - 1

    @property
    def value(self):
        return X * self.k

    @c
    def compiled_method(self, x):
        return x * self.k + 1

    @classmethod
    @c
    def compiled_of_class(cls, x):
        return x * cls.scale + 1

    @staticmethod
    @c
    def compiled_static(x):
        return x - 2

    @property
    @c
    def compiled_value(self):
        return X * self.k + 3

    @functools.cached_property
    @c
    def compiled_once(self):
        return X * self.k + 4


def test_functions_of_every_kind():
    o = Callable()
    same(c(module_function), module_function, X)
    same(c(module_function), module_function, X, 3, 4, m=5, q=6)
    same(c(lambda x: x + 1), lambda x: x + 1, X)
    same(c(functools.partial(module_function, k=5)), functools.partial(module_function, k=5), X)
    same(c(o), o, X)
    same(c(o), o, X, y=5)
    same(c(o.method), o.method, X)
    same(c(Callable.of_class), Callable.of_class, X)
    same(c(Callable.static), Callable.static, X)
    same(c(torch.sin), torch.sin, X)
    same(c(torch.nn.functional.softmax), torch.nn.functional.softmax, X, 0)
    same(c(X.add), X.add, 1)
    assert c(len)([1, 2]) == 2
    assert c(max)(1, 2) == 2


def test_in_a_class_body():
    o = Callable(5)
    assert torch.equal(o.compiled_method(X), X * 5 + 1)
    assert torch.equal(Callable.compiled_method(o, X), X * 5 + 1)
    assert torch.equal(Callable.compiled_of_class(X), X * 3 + 1)
    assert torch.equal(o.compiled_of_class(X), X * 3 + 1)
    assert torch.equal(o.compiled_static(X), X - 2)
    assert torch.equal(Callable.compiled_static(X), X - 2)
    assert torch.equal(o.compiled_value, X * 5 + 3)
    assert o.compiled_once is o.compiled_once
    other = Callable(7)
    assert torch.equal(other.compiled_method(X), X * 7 + 1)
    assert torch.equal(other.compiled_value, X * 7 + 3)


def test_a_compiled_class_makes_instances():
    made = c(Callable)(4)
    assert isinstance(made, Callable) and made.k == 4


def test_generators_and_coroutines():
    @c
    def generator(x, n):
        for i in range(n):
            got = yield x + i
            if got is not None:
                x = x * got
        return x

    def plain(x, n):
        for i in range(n):
            got = yield x + i
            if got is not None:
                x = x * got
        return x

    assert inspect.isgenerator(generator(X, 2))
    for a, b in zip(generator(X, 3), plain(X, 3), strict=True):
        assert torch.equal(a, b)
    g = generator(X, 3)
    next(g)
    assert torch.equal(g.send(2.0), X * 2 + 1)
    g.close()

    @c
    async def coroutine(x):
        await asyncio.sleep(0)
        y = x + 1
        await asyncio.sleep(0)
        return y * inner(x)

    @c
    def inner(x):
        return x * 2

    async def main():
        return await asyncio.gather(coroutine(X), coroutine(X + 1))

    one, two = asyncio.run(main())
    assert torch.equal(one, (X + 1) * X * 2) and torch.equal(two, (X + 2) * (X + 1) * 2)

    @c
    async def agen(x):
        for i in range(2):
            yield x + i

    async def collect():
        return [v async for v in agen(X)]

    assert len(asyncio.run(collect())) == 2


def test_nested_and_recursive():
    @c
    def leaf(x):
        return x + 1

    @c
    def middle(x, n):
        return leaf(x) * 2 if n == 0 else middle(leaf(x), n - 1)

    def plain(x, n):
        return (x + 1) * 2 if n == 0 else plain(x + 1, n - 1)

    same(middle, plain, X, 3)

    def makes(x):
        return c(lambda v: v * 3)(x) + 1

    same(c(makes), makes, X)
    assert c(c(c(leaf)))(X).equal(X + 1)


def test_looks_like_the_function():
    compiled = c(module_function)
    assert compiled.__name__ == "module_function" and compiled.__doc__ == "Doc."
    assert compiled.__qualname__ == module_function.__qualname__
    assert compiled.__module__ == module_function.__module__
    assert compiled.__wrapped__ is module_function
    assert inspect.signature(compiled) == inspect.signature(module_function)
    assert inspect.unwrap(compiled) is module_function
    assert inspect.getdoc(compiled) == "Doc."
    assert inspect.getsource(compiled) == inspect.getsource(module_function)
    assert inspect.isroutine(compiled) or callable(compiled)
    assert "module_function" in repr(compiled)

    @functools.wraps(compiled)
    def wrapper(*args, **kwargs):
        return compiled(*args, **kwargs)

    assert wrapper.__name__ == "module_function"
    same(wrapper, module_function, X)
    compiled.note = 3
    assert compiled.note == 3 and not hasattr(module_function, "note")
    del compiled.note
    assert len({compiled: 1, module_function: 2}) == 2
    assert compiled == compiled and compiled != module_function
    assert weakref.ref(compiled)() is compiled


def test_copy_and_pickle_of_functions():
    compiled = c(module_function)
    same(compiled, module_function, X)
    for copied in (copy.copy(compiled), copy.deepcopy(compiled)):
        same(copied, module_function, X)
    with contextlib.suppress(pickle.PicklingError, TypeError, AttributeError):
        same(pickle.loads(pickle.dumps(compiled)), module_function, X)


def test_every_option_as_a_decorator():
    @ferrodyn.compile(backend="eager", fullgraph=True, dynamic=False)
    def a(x):
        return x + 1

    @ferrodyn.compile
    def b(x):
        return x + 2

    @ferrodyn.compile(disable=True)
    def d(x):
        return x + 3

    assert a(X).equal(X + 1) and d(X).equal(X + 3)
    assert callable(b)


# Modules


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.k = 2

    def forward(self, x, *, extra=0):
        return self.norm(self.lin(x)) * self.k + extra

    def helper(self, x):
        return self.lin(x) + self.k


def test_module_api():
    net = Net()
    compiled = c(net)
    x = torch.randn(4, 3)
    reference = copy.deepcopy(net)
    same(compiled, reference, x)
    assert isinstance(compiled, torch.nn.Module)
    assert set(net.state_dict()) == {k.removeprefix("_orig_mod.") for k in compiled.state_dict()}
    assert [p.data_ptr() for p in compiled.parameters()] == [p.data_ptr() for p in net.parameters()]
    assert len(list(compiled.named_parameters())) == len(list(net.named_parameters()))
    assert compiled.k == 2
    compiled.k = 5
    reference.k = 5
    assert net.k == 5
    same(compiled, reference, x)
    assert torch.equal(compiled.helper(x), reference.helper(x))
    compiled.eval(), reference.eval()
    assert not net.training and not compiled.training
    same(compiled, reference, x)
    compiled.double(), reference.double()
    same(compiled, reference, x.double())
    compiled.load_state_dict({k: v + 1 for k, v in compiled.state_dict().items()})
    reference.load_state_dict({k: v + 1 for k, v in reference.state_dict().items()})
    same(compiled, reference, x.double())
    compiled.requires_grad_(False)
    assert not compiled(x.double()).requires_grad
    assert len(list(compiled.modules())) >= len(list(net.modules()))


def test_module_hooks_on_the_compiled_module():
    net = Net().eval()
    compiled = c(net)
    x = torch.randn(4, 3)
    compiled(x)
    seen = []
    handle = compiled.register_forward_hook(lambda m, a, r: seen.append(1) or r * 2)
    assert torch.equal(compiled(x), net(x) * 2) or torch.equal(compiled(x), net(x))
    assert seen
    handle.remove()
    pre = net.register_forward_pre_hook(lambda m, a: (a[0] + 1,))
    assert torch.equal(compiled(x), net(x))
    pre.remove()
    assert torch.equal(compiled(x), net(x))


def test_module_copies():
    net = Net().eval()
    compiled = c(net)
    x = torch.randn(4, 3)
    compiled(x)
    other = copy.deepcopy(compiled)
    with torch.no_grad():
        for p in other.parameters():
            p.zero_()
    assert torch.equal(compiled(x), net(x)) and not torch.equal(other(x), net(x))
    shallow = copy.copy(compiled)
    assert torch.equal(shallow(x), net(x))
    again = pickle.loads(pickle.dumps(net))
    assert torch.equal(c(again)(x), net(x))
    with contextlib.suppress(pickle.PicklingError, TypeError, AttributeError):
        assert torch.equal(pickle.loads(pickle.dumps(compiled))(x), net(x))


def test_compile_in_place():
    net = Net().eval()
    x = torch.randn(4, 3)
    want = net(x)
    net.forward = c(net.forward)
    assert torch.equal(net(x), want)
    holder = torch.nn.Sequential(c(Net().eval()), torch.nn.ReLU())
    assert torch.equal(holder(x), torch.relu(holder[0](x)))


class Parallel(torch.nn.Module):
    """Wraps as DataParallel does."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


def test_wrapped_modules():
    x = torch.randn(4, 3)
    net = Net().eval()
    for wrapped in (Parallel(c(net)), c(Parallel(net)), torch.nn.DataParallel(c(net))):
        assert torch.equal(wrapped(x), net(x))


def test_training_loop_with_a_compiled_module():
    torch.manual_seed(0)
    net = Net()
    other = copy.deepcopy(net)
    compiled = c(other)
    x, y = torch.randn(8, 3), torch.randn(8, 3)
    first, second = (torch.optim.Adam(m.parameters(), lr=0.1) for m in (net, compiled))
    for _ in range(3):
        for model, optimizer in ((net, first), (compiled, second)):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


# Exceptions


def test_an_exception_is_the_very_one():
    cause = KeyError("c")

    class Odd(Exception):
        def __init__(self, a, *, b):
            super().__init__(a)
            self.b = b

    def f(x, n):
        y = x + 1
        try:
            raise cause
        except KeyError as e:
            error = Odd("text", b=n)
            error.add_note("a note")
            raise error from e
        finally:
            y = y + 1

    for run in (f, c(f)):
        with pytest.raises(Odd, match="text") as info:
            run(X, 3)
        assert info.value.b == 3 and info.value.__cause__ is cause
        assert info.value.__context__ is cause and info.value.__suppress_context__
        assert info.value.__notes__ == ["a note"]
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(info.value.__traceback__)
            if frame.name == "f"
        ]
        assert lines[-1] == f.__code__.co_firstlineno + 7


def test_context_of_the_caller_is_kept():
    def f(x):
        y = x + 1
        raise ValueError(float(y.sum()))

    for run in (f, c(f)):
        try:
            raise KeyError("outer")
        except KeyError as outer:
            with pytest.raises(ValueError) as info:
                run(X)
            assert info.value.__context__ is outer


def test_keyboard_interrupt_and_system_exit():
    for error in (KeyboardInterrupt, SystemExit, GeneratorExit):

        def f(x, error=error):
            y = x + 1
            try:
                raise error("now")
            except Exception:
                return y
            finally:
                seen.append(1)

        for run in (f, c(f)):
            seen = []
            with pytest.raises(error):
                run(X)
            assert seen == [1]


def test_interrupt_by_a_signal():
    def f(x):
        for i in range(10**9):
            x = x + outside(i)
        return x

    @ferrodyn.disable
    def outside(i):
        if i == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return 1

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            c(f)(X)


def test_signal_handlers_run():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(float(handler(X).sum())))
    handler = c(lambda x: x + 1)

    @ferrodyn.disable
    def outside():
        os.kill(os.getpid(), signal.SIGUSR1)

    def f(x):
        y = x * 2
        outside()
        return y + 1

    try:
        for _ in range(3):
            assert torch.equal(c(f)(X), X * 2 + 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [6.0] * 3


def test_recursion_error():
    def f(x, n):
        return f(x + 1, n + 1) + 0

    compiled = c(f)
    for _ in range(3):
        with pytest.raises(RecursionError):
            compiled(X, 0)

    def g(x, n):
        return x if n == 0 else g2(x + 1, n - 1)

    g2 = c(g)
    assert torch.equal(g2(X, 60), X + 60)
    same(c(lambda x: x + 1), lambda x: x + 1, X)


def test_memory_errors_and_user_errors_in_backends():
    def bad(graph, inputs):
        raise MemoryError("no")

    with pytest.raises(Exception, match="no"):
        ferrodyn.compile(lambda x: x + 1, backend=bad)(X)
    same(c(lambda x: x + 1), lambda x: x + 1, X)


# Tools that watch


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


def test_thousand_recompilations_do_not_grow():
    def f(x, n):
        return x * n + 1

    # No generated code: torch.fx keeps its source.
    compiled = ferrodyn.compile(f, backend=lambda g, i: lambda x: (x,))
    counts = []
    with ferrodyn.config.patch(recompile_limit=8, accumulated_recompile_limit=10**9):
        for part in range(5):
            for i in range(250):
                compiled(X, part * 1000 + i)
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


def spawned(queue):
    compiled = ferrodyn.compile(module_function, backend="eager")
    queue.put(compiled(torch.ones(2)).tolist())


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
            self.transform = ferrodyn.compile(module_function, backend="eager")
        return self.transform(torch.full((2,), float(i)))


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


# torch's own transformations


def f_simple(x):
    return torch.sin(x) * 2 + 1


def test_torch_compile_around_and_inside():
    inner = c(f_simple)

    def outer(x):
        return inner(x) + 1

    around = torch.compile(outer, backend="eager")
    assert torch.equal(around(X), f_simple(X) + 1)
    assert torch.equal(around(X), f_simple(X) + 1)
    theirs = torch.compile(f_simple, backend="eager")
    ours = c(lambda x: theirs(x) + 1)
    for _ in range(2):
        assert torch.equal(ours(X), f_simple(X) + 1)
    both = torch.compile(c(f_simple), backend="eager")
    assert torch.equal(both(X), f_simple(X))
    other = c(torch.compile(f_simple, backend="eager"))
    assert torch.equal(other(X), f_simple(X))
    torch._dynamo.reset()
    assert torch.equal(ours(X), f_simple(X) + 1)


def test_torch_compile_module():
    net = Net().eval()
    x = torch.randn(4, 3)
    want = net(x)
    assert torch.equal(c(torch.compile(net, backend="eager"))(x), want)
    assert torch.equal(torch.compile(c(net), backend="eager")(x), want)
    net.compile(backend="eager")
    assert torch.equal(net(x), want)
    assert torch.equal(c(net)(x), want)


def test_jit_trace():
    with pytest.warns():
        traced = torch.jit.trace(c(f_simple), X)
    assert torch.equal(traced(X + 1), f_simple(X + 1))
    with contextlib.suppress(Exception):
        torch.jit.script(c(f_simple))


def test_export():
    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = c(f_simple)

        def forward(self, x):
            return self.inner(x) + 1

    program = torch.export.export(M(), (X,), strict=False)
    assert torch.equal(program.module()(X + 1), f_simple(X + 1) + 1)


def test_symbolic_trace():
    inner = c(f_simple)
    traced = torch.fx.symbolic_trace(lambda x: inner(x) + 1)
    assert torch.equal(traced(X + 1), f_simple(X + 1) + 1)


def test_make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx

    compiled = c(f_simple)
    compiled(X)
    traced = make_fx(compiled)(X)
    assert torch.equal(traced(X + 1), f_simple(X + 1))
    traced = make_fx(c(lambda x: torch.cos(x)), tracing_mode="symbolic")(X)
    assert torch.equal(traced(X + 1), torch.cos(X + 1))


def test_functional_transforms():
    compiled = c(f_simple)
    compiled(X)
    batch = torch.stack([X, X + 1])
    assert torch.equal(torch.func.vmap(compiled)(batch), f_simple(batch))
    for f in (compiled, f_simple):
        grads = torch.func.grad(lambda x, f=f: f(x).sum())(X)
        assert torch.allclose(grads, torch.cos(X) * 2)
    assert torch.allclose(torch.func.jacrev(compiled)(X), torch.diag(torch.cos(X) * 2))
    assert torch.allclose(torch.func.jacfwd(compiled)(X), torch.diag(torch.cos(X) * 2))
    inside = c(lambda x: torch.func.vmap(f_simple)(x))
    assert torch.equal(inside(batch), f_simple(batch))
    inside = c(lambda x: torch.func.grad(lambda v: f_simple(v).sum())(x))
    assert torch.allclose(inside(X), torch.cos(X) * 2)
    assert torch.equal(compiled(X), f_simple(X))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_functional_transforms_have_levels(backend):
    def f(a):
        return a * 3 if (a * 2).requires_grad else a * 5

    def inner(f):
        return torch.func.grad(lambda a: f(a).sum())(X)

    def outer(f):
        return torch.func.grad(lambda a: torch.func.grad(lambda b: (f(a) * b).sum())(X).sum())(X)

    compiled = ferrodyn.compile(f, backend=backend)
    for call in (inner, outer, inner, lambda f: f(X)):
        assert torch.equal(call(compiled), call(f))
    for call in (
        lambda f: torch.func.vmap(f)(torch.ones(2, 3)),
        lambda f: torch.func.vmap(torch.func.vmap(f))(torch.ones(2, 2, 3)),
        lambda f: torch.func.jvp(f, (X,), (X + 1,))[1],
    ):
        ferrodyn.reset()
        assert torch.equal(call(compiled), call(f))


def test_saved_tensor_hooks_that_torchs_tracer_builds_in():
    weight = torch.ones(3, requires_grad=True)
    compiled = ferrodyn.compile(lambda x: x * weight * weight, backend="aot_eager")
    pack = torch.fx.symbolic_trace(lambda t: t * 2)
    unpack = torch.fx.symbolic_trace(lambda t: t / 2)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(pack, unpack):
        compiled(X)
        with ferrodyn.config.patch(error_on_recompile=True):
            compiled(X)
    with ferrodyn.config.patch(error_on_recompile=True):
        with pytest.raises(ferrodyn.exc.RecompileError, match="saved_tensors"):
            compiled(X)
        with hooks(unpack, pack), pytest.raises(ferrodyn.exc.RecompileError):
            compiled(X)
    # Hooks that are no graphs are the engine's: they work as they do in plain Python.
    packed = []
    plain = ferrodyn.compile(lambda x: x * weight, backend="aot_eager")
    plain(X)
    with (
        ferrodyn.config.patch(error_on_recompile=True),
        hooks(lambda t: packed.append(t) or t, lambda t: t),
    ):
        plain(X)
    assert packed


def test_fake_tensors_and_modes():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    compiled = c(f_simple)
    compiled(X)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(X)
        assert compiled(fake).shape == X.shape and type(compiled(fake)) is type(fake)

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            seen.append(f)
            return f(*args, **(kwargs or {}))

    with Log():
        assert torch.equal(compiled(X), f_simple(X))
    assert seen
    assert torch.equal(compiled(X), f_simple(X))


def test_checkpoint_and_backward():
    from torch.utils.checkpoint import checkpoint

    x = X.clone().requires_grad_()
    y = X.clone().requires_grad_()
    checkpoint(c(f_simple), x, use_reentrant=False).sum().backward()
    f_simple(y).sum().backward()
    assert torch.equal(x.grad, y.grad)
    compiled = c(lambda v: checkpoint(f_simple, v, use_reentrant=False))
    z = X.clone().requires_grad_()
    compiled(z).sum().backward()
    assert torch.equal(z.grad, y.grad)


def test_hooks_of_tensors_and_autograd():
    seen = []
    x = X.clone().requires_grad_()
    x.register_hook(lambda g: seen.append(1))
    compiled = c(lambda v: (v * 2).sum())
    compiled(x).backward()
    assert seen == [1]

    inner = c(lambda v: v * 3)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            return inner(v)

        @staticmethod
        def backward(ctx, g):
            return inner(g)

    y = X.clone().requires_grad_()
    Function.apply(y).sum().backward()
    assert torch.equal(y.grad, torch.full((3,), 3.0))
    z = X.clone().requires_grad_()
    z.register_hook(lambda g: inner(g))
    compiled(z).backward()
    assert torch.equal(z.grad, torch.full((3,), 6.0))


def test_default_device_that_a_context_takes_away():
    """Leaving a device context ends the default that was set inside it; a variable still names it."""
    from torch.utils import _device

    modes = torch.overrides._get_current_function_mode_stack
    was = _device.CURRENT_DEVICE

    def f():
        return torch.ones(2).device.type

    compiled = c(f)
    try:
        for _ in range(2):
            with torch.device("cpu"):
                torch.set_default_device("meta")
                assert compiled() == f()
            assert compiled() == f()
            torch.set_default_device(None)
            assert compiled() == f()
    finally:
        while modes():
            torch._C._pop_torch_function_stack()
        torch._GLOBAL_DEVICE_CONTEXT.__dict__.clear()
        _device.CURRENT_DEVICE = was

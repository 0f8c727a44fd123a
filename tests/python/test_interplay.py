"""Compiled functions, methods and modules where a program uses plain ones."""

# ruff: noqa: E501
from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import os
import pickle
import signal
import threading
import time
import traceback
import weakref

import harness
import pytest
import torch
from interplay import Net, X, c, same

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


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
        for i in range(1000):
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


def test_an_interrupt_in_the_backend_is_raised_once():
    raised = []

    def backend(graph, inputs):
        raise KeyboardInterrupt

    def call():
        try:
            ferrodyn.compile(lambda x: x + 1, backend=backend)(X)
        except KeyboardInterrupt as error:
            raised.append(error)

    # One more would come to the main thread.
    thread = threading.Thread(target=call)
    try:
        thread.start()
        thread.join()
        time.sleep(0.01)
    except KeyboardInterrupt as error:
        raised.append(error)
    assert len(raised) == 1


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

"""Calls that find compiled code without a frame: bound arguments, closures, methods, modules."""

from __future__ import annotations

import collections
import functools
import gc
import inspect
import sys
import threading
import weakref

import forked
import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def backend(graph, inputs):
    return graph.forward


def compiled(fn):
    return ferrodyn.compile(fn, backend=backend)


@pytest.fixture
def x():
    return torch.randn(3)


def same(one, other):
    return torch.equal(one, other)


def test_arguments_are_bound_as_python_binds_them(x):
    def fn(x, /, y=2, *rest, z=3, **more):
        return x + y + z + sum(rest) + more.get("q", 0) + 10 * more.get("x", 0)

    entry = compiled(fn)
    calls = [
        ((x,), {}),
        ((x, 1), {}),
        ((x, 1, 5, 6), {}),
        ((x,), {"z": 9}),
        ((x,), {"q": 9}),
        ((x,), {"y": 4, "q": 1}),
        ((x,), {"x": 4}),
        ((x, 1, 5), {"z": 2, "q": 1}),
    ]
    for _ in range(3):
        for args, kwargs in calls:
            assert same(entry(*args, **kwargs), fn(*args, **kwargs)), (args, kwargs)


def test_calls_that_python_refuses_are_refused_in_its_words(x):
    def fn(x, /, y, *, z=3):
        return x + y + z

    entry = compiled(fn)
    for _ in range(3):
        entry(x, 1)
    for args, kwargs in [((), {}), ((x, 1, 2), {}), ((x, 1), {"y": 2}), ((x,), {"x": 1, "y": 2})]:
        with pytest.raises(TypeError) as expected:
            fn(*args, **kwargs)
        with pytest.raises(TypeError) as found:
            entry(*args, **kwargs)
        assert str(found.value) == str(expected.value)


def test_defaults_are_those_of_the_call(x):
    def fn(x, y=2, *, z=3):
        return x + y * z

    entry = compiled(fn)
    for _ in range(3):
        assert same(entry(x), x + 6)
    fn.__defaults__ = (5,)
    assert same(entry(x), x + 15)
    fn.__kwdefaults__["z"] = 1
    assert same(entry(x), x + 5)
    fn.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        entry(x)


def test_one_code_with_two_closures(x):
    def make(z):
        def fn(x):
            return x + z

        def change(to):
            nonlocal z
            z = to

        return fn, change

    (f, change), (g, _) = make(2), make(3)
    cf, cg = compiled(f), compiled(g)
    for _ in range(3):
        assert same(cf(x), x + 2) and same(cg(x), x + 3)
    change(7)
    for _ in range(3):
        assert same(cf(x), x + 7) and same(cg(x), x + 3)


def test_a_nonlocal_that_is_written(x):
    count = 0

    def fn(x):
        nonlocal count
        count += 1
        return x + 1

    entry = compiled(fn)
    for n in range(6):
        assert same(entry(x), x + 1)
        assert count == n + 1


def test_methods_and_callable_objects(x):
    class Thing:
        def __init__(self, w):
            self.w = w

        def method(self, x, k=1):
            return x + self.w * k

        def __call__(self, x, *, k=2):
            return x * k + self.w

    one, other = Thing(torch.ones(3)), Thing(torch.zeros(3))
    for thing in one, other:
        method, call = compiled(thing.method), compiled(thing)
        for _ in range(3):
            assert same(method(x), thing.method(x))
            assert same(method(x, k=3), thing.method(x, k=3))
            assert same(call(x), thing(x))
            assert same(call(x, k=5), thing(x, k=5))


def test_a_code_object_that_is_replaced(x):
    def fn(x):
        return x + 1

    def other(x):
        return x + 2

    entry = compiled(fn)
    old = fn.__code__
    for _ in range(3):
        for code, plus in (old, 1), (other.__code__, 2):
            fn.__code__ = code
            assert same(entry(x), x + plus) and same(entry(x), x + plus)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, scale=1):
        return self.linear(x) * scale


def test_a_module(x):
    net = Net()
    entry = compiled(net)
    for _ in range(3):
        assert same(entry(x), net(x)) and same(entry(x, scale=2), net(x, scale=2))
    assert "scale" not in inspect.signature(entry).parameters
    assert inspect.signature(entry) == inspect.signature(torch.nn.Module().__call__)


def test_keywords_of_a_module(x):
    """Keywords come as the caller wrote them: in any order, computed, refused."""

    class Scaled(torch.nn.Module):
        def forward(self, x, scale=2, *, shift=0, **more):
            return x * scale + shift, sorted(more.items()), scale, shift

    plain = Scaled()
    compiled = ferrodyn.compile(plain, backend="eager")
    computed = "".join(["sh", "ift"])
    given = {"scale": 3, computed: 1, "other": 4}
    for _ in range(3):
        for args, kwargs in [
            ((x,), {}),
            ((x,), {"shift": 1}),
            ((x,), {"scale": 3, "shift": 1}),
            ((x,), {"shift": 1, "scale": 3}),
            ((), {"x": x, "scale": 4}),
            ((x,), given),
            ((x, 5), {"more": 1, "self_": 2}),
        ]:
            for one, other in zip(plain(*args, **kwargs), compiled(*args, **kwargs), strict=True):
                assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
    assert given == {"scale": 3, "shift": 1, "other": 4}
    for args, kwargs in [((x,), {1: 2}), ((x,), {"x": x}), ((), {"scale": 1})]:
        with pytest.raises(TypeError) as expected:
            plain(*args, **kwargs)
        with pytest.raises(TypeError) as found:
            compiled(*args, **kwargs)
        # Where the caller is at fault, Python names what it called.
        assert str(found.value).split(" ")[-3:] == str(expected.value).split(" ")[-3:]


def test_a_keyword_dictionary_that_changes_during_the_call(x):
    """What a caller passes stays alive for the call, whatever becomes of its dictionary."""
    given = {}

    class Clears(torch.nn.Module):
        def forward(self, x, held):
            given.clear()
            torch._dynamo.graph_break()
            return x + held

    compiled = ferrodyn.compile(Clears(), backend="eager")
    for n in range(3):
        given.update(x=x, held=torch.full((3,), float(n)))
        expected = x + n
        assert torch.equal(type(compiled).__call__(compiled, **given), expected)
        given.update(x=x, held=torch.full((3,), float(n)))
        assert torch.equal(compiled(**given), expected)


def test_subclasses_of_the_wrapper_have_their_own_call(x):
    """The quick call of the type is not inherited."""
    plain = torch.nn.Linear(3, 3)
    compiled = ferrodyn.compile(plain, backend="eager")

    class Louder(type(compiled)):
        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs) + 1

    class Same(type(compiled)):
        pass

    options = compiled._options
    for _ in range(3):
        assert torch.equal(Louder(plain, options)(x), plain(x) + 1)
        assert torch.equal(Same(plain, options)(input=x), plain(x))


def test_what_a_module_holds_changes_between_calls(x):
    net = Net()
    entry = compiled(net)
    hooks = collections.OrderedDict({0: lambda module, args, result: result + 1})

    def replaced():
        net.__dict__ = dict(net.__dict__)

    changes = [
        lambda: setattr(net, "counter", 1),
        lambda: setattr(net, "forward", lambda x: x * 3),
        lambda: setattr(net, "forward", lambda x: x * 4),
        lambda: delattr(net, "forward"),
        lambda: setattr(net, "_forward_hooks", hooks),
        lambda: hooks.clear(),
        lambda: setattr(net, "_call_impl", lambda x: x * 5),
        lambda: delattr(net, "_call_impl"),
        replaced,
        lambda: net._forward_hooks.update({1: lambda module, args, result: result * 2}),
        lambda: net._forward_hooks.clear(),
        lambda: setattr(net, "__class__", type("Other", (Net,), {"forward": lambda self, x: -x})),
    ]
    for change in changes:
        for _ in range(3):
            assert same(entry(x), net(x))
        change()
        for _ in range(3):
            assert same(entry(x), net(x))


@pytest.mark.parametrize("of", ["wrapper", "module", "global"])
def test_hooks_that_come_and_go(x, of):
    net = Net()
    entry = compiled(net)
    for _ in range(3):
        entry(x)
    seen = []
    register = {
        "wrapper": entry.register_forward_hook,
        "module": net.register_forward_hook,
        "global": torch.nn.modules.module.register_module_forward_hook,
    }[of]
    # For the wrapper or for the module itself, or for the module and its layer.
    handle = register(lambda module, args, result: seen.append(type(module)))
    result = entry(x)
    handle.remove()
    assert same(result, net(x)) and Net in seen or of == "wrapper"
    assert len(seen) == (2 if of == "global" else 1)
    entry(x)
    assert len(seen) == (2 if of == "global" else 1)
    changing = net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    assert same(entry(x), net(x))
    changing.remove()
    assert same(entry(x), net(x))


def test_a_module_whose_way_is_changed(x, monkeypatch):
    net = Net()
    entry = compiled(net)
    for _ in range(3):
        entry(x)
    net.forward = lambda x: x + 100
    for _ in range(3):
        assert same(entry(x), x + 100)
    del net.forward
    assert same(entry(x), net(x))
    monkeypatch.setattr(Net, "forward", lambda self, x: x - 100)
    for _ in range(3):
        assert same(entry(x), x - 100)
    monkeypatch.undo()
    assert same(entry(x), net(x))
    calls = []
    original = torch.nn.Module.__call__

    def spy(self, *args, **kwargs):
        calls.append(type(self))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(torch.nn.Module, "__call__", spy)
    assert same(entry(x), net(x))
    assert calls[0] is ferrodyn.OptimizedModule and Net in calls


def test_a_module_is_traced_by_jit(x):
    net = Net()
    entry = compiled(net)
    for _ in range(3):
        entry(x)
    traced = torch.jit.trace(net, (x,))
    assert same(traced(x), entry(x))


def test_a_compiled_module_inside_a_compiled_function(x):
    net = Net()
    entry = compiled(net)

    def outer(x):
        return entry(x) + 1

    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    whole = ferrodyn.compile(outer, backend=keep, fullgraph=True)
    for _ in range(3):
        assert same(whole(x), net(x) + 1)
    assert len(graphs) == 1


def test_resume_functions_are_called_directly(x):
    def fn(x):
        y = x + 1
        if y.sum() > 0:
            return y * 2
        return y - 2

    entry = compiled(fn)
    for _ in range(3):
        for value in x.abs(), -x.abs() - 2:
            assert same(entry(value), fn(value))

    def under_another_context(x):
        return entry(x) + 1

    other = ferrodyn.compile(under_another_context, backend=backend)
    for _ in range(3):
        assert same(other(x), fn(x) + 1)


def test_nothing_is_kept_alive(x):
    def make():
        big = torch.ones(3)

        def fn(x, k=2):
            if x.sum() > 100:
                return x
            return x + big * k

        entry = compiled(fn)
        for _ in range(3):
            entry(x)
            entry(x, k=3)
        fn.itself = entry
        return weakref.ref(fn), weakref.ref(big)

    alive = make()
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_a_namespace_is_not_kept_alive(x):
    scope = {}
    exec("def fn(x):\n    return x + 1\n", scope)
    entry = compiled(scope["fn"])
    for _ in range(3):
        entry(x)
    alive = weakref.ref(scope["fn"])
    del entry, scope
    gc.collect()
    assert alive() is None


def test_what_dies_takes_its_code_along(x):
    net = Net()

    def fn(net, x):
        return net(x)

    entry = compiled(fn)
    for _ in range(3):
        entry(net, x)
    weight = weakref.ref(net.linear.weight)
    del net
    gc.collect()
    assert weight() is None


@pytest.mark.slow
def test_the_first_module_of_a_process_is_compiled_once():
    program = """
import torch, ferrodyn
graphs = []
def backend(graph, inputs):
    graphs.append(graph)
    return graph.forward
module = ferrodyn.compile(torch.nn.Linear(2, 2), backend=backend)
for _ in range(3):
    module(torch.ones(1, 2))
print(len(graphs))
"""
    found = forked.run(["-c", program], check=True)
    assert found.stdout == "1\n"


def test_the_function_that_a_class_calls_is_replaced_by_another_of_its_code():
    """Compiled code writes the cells of the function that is called, not of the one before."""

    def make():
        written = None

        def call(self, x):
            nonlocal written
            written = self.value
            return x + written

        return call, lambda: written

    class Adds:
        value = 3

    functions = [make() for _ in range(3)]
    Adds.__call__ = functions[0][0]
    entry = ferrodyn.compile(Adds(), backend=backend)
    x = torch.ones(2)
    for value in range(4, 8):
        for call, read in functions * 2:
            Adds.__call__ = call
            Adds.value = value
            assert torch.equal(entry(x), x + value)
            assert read() == value


class _Later:
    """A callable that lets others run before it looks at its arguments."""

    def __init__(self, forward):
        self.forward, self.between = forward, None

    def __call__(self, *args):
        between, self.between = self.between, None
        if between is not None:
            between()
        return self.forward(*args)


def test_a_graph_is_called_while_it_runs(x):
    """Its parameters lie in one place for all calls."""
    graphs = []

    def late(graph, inputs):
        graphs.append(_Later(graph.forward))
        # A bound builtin hands its arguments on as they came.
        return functools.partial(graphs[-1])

    net = torch.nn.Linear(3, 3)
    call = ferrodyn.compile(net, backend=late)
    call(x)
    inner = []
    graphs[0].between = lambda: inner.append(call(x + 1))
    assert same(call(x), net(x)) and same(inner[0], net(x + 1))

    def other():
        inner.append(call(x + 2))

    def in_a_thread():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    graphs[0].between = in_a_thread
    assert same(call(x), net(x)) and same(inner[1], net(x + 2))

    def fails():
        raise ValueError("between")

    graphs[0].between = fails
    with pytest.raises(ValueError, match="between"):
        call(x)
    assert same(call(x), net(x)) and len(graphs) == 1


class Summed(torch.nn.Module):
    def forward(self, x, *rest, **more):
        return x * 2 + sum(rest) + sum(more.values())


class Read(torch.nn.Module):
    """Reads items of its keywords, and hands them on in what it returns."""

    def forward(self, *rest, **more):
        y = more["x"] * 2 + more["n"]
        return {"y": y, "x": more["x"], "rest": rest}


def test_keywords_of_a_held_dictionary(x):
    # `functools.partial` calls with one dictionary each time, which the program can reach.
    plain, made = Read(), compiled(Read())
    held = functools.partial(made, x=x, n=1)
    eager = functools.partial(plain, x=x, n=1)
    for n in (1, 1, 1, 2, 2, 2, 1.5):
        held.keywords["n"] = eager.keywords["n"] = n
        given, expected = held(), eager()
        assert same(given["y"], expected["y"]) and given["x"] is x and given["rest"] == ()
        assert dict(held.keywords) == {"x": x, "n": n}
    for _ in range(3):
        assert held(5, n=2)["rest"] == (5,)
    del held.keywords["n"]
    with pytest.raises(KeyError, match="'n'"):
        held()


def test_keywords_that_change_while_the_graph_runs(x):
    held, seen = None, []

    def changing(graph, inputs):
        def call(*args):
            if held is not None:
                held.keywords.update(x=None, n=7, other=1)
            return graph.forward(*args)

        return call

    class Late(torch.nn.Module):
        def forward(self, **more):
            y = more["x"] + 1
            seen.append(more["n"])
            return y, more["x"], more["n"], dict(more)

    for module in Read(), Late():
        made = ferrodyn.compile(module, backend=changing)
        for _ in range(4):
            held = functools.partial(made, x=x, n=1)
            given, expected = held(), module(x=x, n=1)
            if isinstance(given, dict):
                assert given["x"] is x and same(given["y"], expected["y"])
            else:
                assert same(given[0], expected[0]) and given[1:] == expected[1:]
    assert seen == [1] * 8


def test_keywords_that_are_handed_on_are_the_callees_own(x):
    class Kept(torch.nn.Module):
        def forward(self, **more):
            more["y"] = more["x"] + 1
            return more

    made = compiled(Kept())
    given = {"x": x}
    for _ in range(4):
        held = functools.partial(made, **given)
        kept = held()
        assert kept is not held.keywords and list(held.keywords) == ["x"]
        assert list(kept) == ["x", "y"] and kept["x"] is x


def test_keywords_of_a_module_that_are_arguments_or_none(x):
    plain, made = Summed(), compiled(Summed())
    calls = [
        ((x,), {"a": 1}),
        ((x,), {"a": 1, "b": x}),
        ((x, 1), {"a": 1}),
        ((x,), {"a": 2}),
        ((), {"x": x, "a": 1}),
        ((x,), {"x": x}),
        ((), {"a": 1}),
    ]
    for args, kwargs in calls * 3:
        try:
            expected = plain(*args, **kwargs)
        except TypeError as refused:
            with pytest.raises(TypeError) as error:
                made(*args, **kwargs)
            assert str(error.value) == str(refused)
        else:
            assert same(made(*args, **kwargs), expected), (args, kwargs)
    with pytest.raises(TypeError, match="keywords must be strings"):
        made(x, **{1: x})


def test_keywords_of_a_module_live_as_long_as_in_plain_python():
    made = compiled(Read())
    for _ in range(5):
        x = torch.randn(3)
        alive = weakref.ref(x)
        plain = Read()(x=x, n=1)
        given = made(x=x, n=1)
        assert sys.getrefcount(given) == sys.getrefcount(plain)
        del plain
        del x, given
        assert alive() is None


FIRST_CALL_OF_A_PROCESS = """
import torch, ferrodyn
made = []
def backend(graph, inputs):
    made.append(graph)
    return graph.forward
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
x = torch.ones(2, 3)
compiled = ferrodyn.compile(net.__call__, backend=backend)
for _ in range(3):
    assert torch.equal(compiled(x), net(x))
print(len(made))
"""


def test_the_call_of_a_module_is_compiled_once_in_a_new_process():
    """Nothing has looked at torch's internals before the first call."""
    result = forked.run(["-c", FIRST_CALL_OF_A_PROCESS])
    assert result.stdout == "1\n", result.stderr

"""A panic in a function that C calls ends there: the program goes on, and the log says so once.

Debug builds only: they panic where a test asks for it.
"""

from __future__ import annotations

import collections
import copy
import gc
import sys

import forked
import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
    from ferrodyn import _core

    testing = _core._testing
    can_panic = hasattr(testing, "panic_in")
else:
    can_panic = False

pytestmark = [
    pytest.mark.own,
    pytest.mark.skipif(not can_panic, reason="needs a debug build"),
]

START, END = False, True


def compiled(fn):
    return ferrodyn.compile(fn, backend=lambda graph, inputs: graph.forward)


class Panic:
    """A panic in what C calls for `doing`."""

    def __init__(self, doing, at_end):
        self.doing, self.at_end = doing, at_end

    def __enter__(self):
        testing.panic_in(self.doing, self.at_end)

    def __exit__(self, kind, error, traceback):
        to_come = testing.panic_is_to_come()
        if kind is None:
            assert not to_come, f"nothing panicked in {self.doing}"
            assert testing.hook_state() == (False, 0)


def either(call, expected, doing, at_end):
    """Whatever panics before the program has run is left out; later it is an exception."""
    with Panic(doing, at_end):
        if at_end:
            with pytest.raises(RuntimeError, match="panic"):
                call()
        else:
            assert expected(call())
    assert expected(call())


@pytest.fixture
def x():
    return torch.ones(3)


def same(x):
    return lambda result: torch.equal(result, x)


places = pytest.mark.parametrize("at_end", [START, END], ids=["start", "end"])


@places
def test_the_call_of_an_entry(x, at_end):
    entry = compiled(lambda x: x + 1)
    for _ in range(2):
        either(lambda: entry(x), same(x + 1), "the call of an entry", at_end)


@places
def test_the_evaluation_of_a_frame(x, at_end):
    def inner(x):
        return x * 2

    def outer(x):
        ferrodyn.graph_break()
        return inner(x) + 1

    entry = compiled(outer)
    either(lambda: entry(x), same(x * 2 + 1), "the evaluation of a frame", at_end)


@places
def test_the_call_of_a_resume_function(x, at_end):
    def fn(x):
        y = x + 1
        ferrodyn.graph_break()
        return y * 2

    entry = compiled(fn)
    entry(x)
    either(lambda: entry(x), same(x * 2 + 2), "the call of a resume function", at_end)


@places
def test_the_call_of_a_disabled_entry(x, at_end):
    entry = ferrodyn.disable(lambda x: x + 1)
    either(lambda: entry(x), same(x + 1), "the call of a disabled entry", at_end)


@places
def test_the_call_of_a_module(x, at_end):
    entry = ferrodyn.compile(torch.nn.ReLU(), backend=lambda graph, inputs: graph.forward)
    entry(x)
    either(lambda: entry(x), same(x), "the call of a module", at_end)


@places
def test_attributes_and_texts_of_an_entry(x, at_end):
    def fn(x):
        return x + 1

    class Callable:
        def __call__(self, x):
            return x

    entry, of_object = compiled(fn), compiled(Callable())
    owner = type("Owner", (), {"method": entry, "other": of_object})()
    for doing, call in [
        ("the text of an entry", lambda: repr(entry)),
        ("the reading of an attribute of an entry", lambda: entry.__name__),
        (
            "the setting of an attribute of an entry",
            lambda: setattr(entry, "__doc__", ""),
        ),
        (
            "the reading of an attribute of a compiled entry",
            lambda: entry._torchdynamo_orig_callable,
        ),
        (
            "the reading of an attribute of a compiled entry",
            lambda: entry._torchdynamo_wrapper_id,
        ),
        ("the pickling of an entry", lambda: copy.copy(entry)),
        ("the binding of an entry", lambda: owner.method),
        ("the binding of a callable's entry", lambda: owner.other),
    ]:
        with Panic(doing, at_end), pytest.raises(RuntimeError, match="panic"):
            call()
        call()
    assert torch.equal(entry(x), x + 1)


@places
def test_the_end_of_an_entry(x, at_end):
    for doing in ["the end of an entry", "the clearing of an entry"]:
        entry = compiled(lambda x: x + 1)
        entry(x)
        with Panic(doing, at_end):
            del entry
    entry = compiled(lambda x: x + 1)
    with Panic("a look through an entry for the garbage collector", at_end):
        gc.collect()
    assert torch.equal(entry(x), x + 1)


@places
def test_the_end_of_a_code_object(x, at_end):
    scope = {}
    exec("def fn(x): return x + 1", scope)
    compiled(scope["fn"])(x)
    with Panic("the end of a code object", at_end):
        scope.clear()
        gc.collect()


@places
def test_watchers(x, at_end):
    scope = {"factor": 2, "torch": torch}
    exec(
        "class Class: attribute = 3\n"
        "def helper(x, by=4): return x + by\n"
        "def fn(x): return helper(x * factor) + Class.attribute",
        scope,
    )
    entry = compiled(scope["fn"])

    def check(expected):
        for _ in range(3):
            assert torch.equal(entry(x), torch.full((3,), expected))

    def changes():
        scope["factor"] = 5
        yield "a dict watcher", 12.0
        scope["Class"].attribute = 6
        yield "a type watcher", 15.0
        scope["helper"].__defaults__ = (7,)
        yield "a function watcher", 18.0

    check(9.0)
    names = ["a dict watcher", "a type watcher", "a function watcher"]
    if not (sys.version_info >= (3, 12)):
        names = ["the setting of a function's code"]
        with Panic(names[0], at_end), pytest.raises(RuntimeError, match="panic"):
            scope["helper"].__code__ = scope["fn"].__code__
        return
    steps = changes()
    for name in names:
        with Panic(name, at_end):
            _, expected = next(steps)
        check(expected)


@places
def test_what_residual_code_calls(x, at_end):
    class Plain:
        def __setattr__(self, name, value):
            super().__setattr__(name, value)

    class Dict(dict):
        pass

    class Ordered(collections.OrderedDict):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)

    def attributes(x):
        made = Plain()
        made.a = x + 1
        return made

    def items(x):
        made = Dict()
        made["a"] = x + 1
        return made

    def ordered(x):
        made = Ordered()
        made["a"] = x + 1
        made.b, made.c, made.d = x, x, x
        return made

    natives = [
        "new_object",
        "new_dict",
        "set_attribute",
        "set_item",
        "set_ordered_item",
        "fill",
    ]
    met = set()
    for fn in [attributes, items, ordered]:
        entry = compiled(fn)
        entry(x)
        for name in natives:
            testing.panic_in(f"`{name}` of residual code", at_end)
            try:
                entry(x)
            except RuntimeError as error:
                assert "panic" in str(error)
                met.add(name)
            testing.panic_is_to_come()
        made = entry(x)
        value = made["a"] if isinstance(made, dict) else made.a
        assert torch.equal(value, x + 1)
    assert met == set(natives)


def test_the_log_says_so_once():
    program = """
import ferrodyn
from ferrodyn._core import _testing as testing
entry = ferrodyn.disable(lambda: None)
for _ in range(3):
    testing.panic_in("the call of a disabled entry", False)
    entry()
for _ in range(1000):
    pass
"""
    done = forked.run(["-c", program], check=True)
    told = [line for line in done.stderr.splitlines() if "internal error" in line]
    assert len(told) == 1, done.stderr
    assert "(panic) in the call of a disabled entry: a test asked for it" in told[0]

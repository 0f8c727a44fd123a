"""Arguments, closures, exceptions: what a call does is what it did before."""

import inspect
import sys
import traceback

import pytest
from hook_core import CONTEXT, compiled, core, testing, twin


def variadic(a, b=2, /, c=3, *rest, d, e=5, **named):
    total = [a, b, c, rest, d, e, named]
    return total, sorted(named)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1,), {"d": 4}),
        ((1, 20), {"d": 4, "e": 50}),
        ((1, 20, 30), {"d": 4, "x": 1, "a": 2}),
        ((1, 20, 30, 40, 50), {"d": 4, "b": 7}),
        ((1,), {"d": 4, "c": 9}),
    ],
)
def test_binding(mode, args, kwargs):
    assert compiled(variadic)(*args, **kwargs) == variadic(*args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((), {"d": 1}), ((1,), {}), ((1,), {"d": 1, "d2": 2, "c": 1})]
)
def test_binding_errors_are_pythons_own(mode, args, kwargs):
    def outcome(f):
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            return str(error)

    assert outcome(compiled(variadic)) == outcome(variadic)


def test_the_compiler_sees_bound_arguments():
    seen = []
    testing.use_python_compiler(lambda code, arguments: seen.append(arguments))
    try:
        compiled(variadic)(1, d=4, z=1)
    finally:
        testing.use_python_compiler(None)
    assert seen == [{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "rest": (), "named": {"z": 1}}]


def test_closures_and_nonlocal(mode):
    def counter(start):
        count = start

        def step(by=1):
            nonlocal count
            count += by
            return lambda: (count, by)

        return step

    step = compiled(counter(10))
    assert step()() == (11, 1)
    assert step(by=5)() == (16, 5)
    assert compiled(counter)(3)(2)() == (5, 2)


def test_argument_that_is_a_cell(mode):
    def outer(x, *rest, **named):
        def inner():
            return x, rest, named

        x += 1
        return inner

    assert compiled(outer)(1, 2, k=3)() == (2, (2,), {"k": 3})


def test_super_and_class_cell(mode):
    class Base:
        def f(self, x):
            return ["base", x]

    class Derived(Base):
        def f(self, x):
            return ["derived", *super().f(x), __class__.__name__]

    Derived.f = compiled(Derived.f)
    assert Derived().f(4) == ["derived", "base", 4, "Derived"]


def test_replacement_runs_in_place_of_the_code():
    def f(x, y=2, *rest, k=1):
        return x

    def g(x, y=2, *rest, k=1):
        squares = [i * i for i in range(5)]
        a = b = c = d = e = x
        return "replaced", a + b + c + d + e + y + k, squares, rest

    testing.use_python_compiler(lambda code, _: g.__code__ if code is f.__code__ else None)
    try:
        assert compiled(f)(1, 2, 3, k=4) == ("replaced", 11, [0, 1, 4, 9, 16], (3,))
        assert f(1) == 1
    finally:
        testing.use_python_compiler(None)


def test_inner_frames_are_replaced_too():
    def inner(x):
        return x

    def replacement(x):
        return -x

    def outer(x):
        return inner(x) + inner(x)

    testing.use_python_compiler(
        lambda code, _: replacement.__code__ if code is inner.__code__ else None
    )
    try:
        assert compiled(outer)(3) == -6
        assert outer(3) == 6
    finally:
        testing.use_python_compiler(None)


def test_skip_is_remembered_for_the_context():
    def f():
        return 1

    seen = []

    def callback(code, _):
        seen.append(code)
        return False

    testing.use_python_compiler(callback)
    try:
        first, second = compiled(f), compiled(f, core.Context("eager"))
        for _ in range(3):
            first(), second()
    finally:
        testing.use_python_compiler(None)
    assert seen == [f.__code__, f.__code__]


def fails(x):
    y = x
    raise ValueError(y)


def calls_fails(x):
    return fails(x)


def frames_of(error):
    return [
        (frame.f_code.co_name, line, frame.f_code.co_filename)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]


def test_traceback_is_the_users(mode):
    def outcome(f):
        with pytest.raises(ValueError) as caught:
            f(3)
        return frames_of(caught.value)[1:]

    entry = compiled(calls_fails)

    def through_plain():
        return outcome(calls_fails)

    assert outcome(entry) == through_plain()
    assert [name for name, *_ in outcome(entry)] == ["calls_fails", "fails"]


def test_exceptions_are_handled_inside(mode):
    def f(x):
        try:
            fails(x)
        except ValueError as error:
            return error.args, sys.exc_info()[0]
        finally:
            x = None

    assert compiled(f)(7) == ((7,), ValueError)
    assert sys.exc_info() == (None, None, None)


def test_chained_exceptions_and_context(mode):
    def f():
        try:
            fails(1)
        except ValueError as error:
            raise KeyError(2) from error

    try:
        raise IndexError(0)
    except IndexError as outer:
        with pytest.raises(KeyError) as caught:
            compiled(f)()
        assert isinstance(caught.value.__cause__, ValueError)
        assert caught.value.__cause__.__context__ is outer


def test_raise_in_place_of_a_frame():
    def f(x):
        return x

    def callback(code, _):
        raise LookupError("from the compiler")

    argument = object()
    before = sys.getrefcount(argument)
    testing.use_python_compiler(callback)
    try:
        for _ in range(100):
            with pytest.raises(LookupError, match="from the compiler"):
                compiled(f)(argument)
    finally:
        testing.use_python_compiler(None)
    assert sys.getrefcount(argument) == before
    assert compiled(f)(1) == 1


def test_callback_that_returns_nonsense():
    testing.use_python_compiler(lambda code, _: 7)
    try:
        with pytest.raises(TypeError, match="not None, False or a code object"):
            compiled(lambda: 1)()
    finally:
        testing.use_python_compiler(None)


def test_panic_becomes_plain_execution(caplog):
    def f(x):
        return x + 1

    testing.use_python_compiler(lambda code, _: None)
    testing.set_panic(True)
    try:
        entry = compiled(f)
        assert [entry(i) for i in range(5)] == [1, 2, 3, 4, 5]
    finally:
        testing.set_panic(False)
        testing.use_python_compiler(None)
    told = [r for r in caplog.records if "a test asked for it" in r.getMessage()]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("replacement", "reason"),
    [
        (lambda x, y: 0, "co_argcount"),
        (lambda x, *y: 0, "flags"),
        (lambda x, /: 0, "co_posonlyargcount"),
        (lambda x, *, k=1: 0, "flags|co_kwonlyargcount"),
        ((lambda free: lambda x: free)(1), "free variables"),
    ],
)
def test_wrong_replacement_is_a_named_error(replacement, reason):
    def f(x):
        return x

    testing.use_python_compiler(lambda code, _: replacement.__code__)
    try:
        with pytest.raises(core.ReplacementError, match=reason):
            compiled(f)(1)
    finally:
        testing.use_python_compiler(None)
    assert compiled(f)(1) == 1
    with pytest.raises(core.ReplacementError):
        core.check_replacement(f.__code__, replacement.__code__)


def test_a_compiler_that_gives_wrong_code_is_an_error_only_with_fullgraph(caplog):
    def f(x):
        return x

    testing.use_python_compiler(lambda code, _: (lambda x, y: 0).__code__)
    testing.set_unchecked(True)
    try:
        entry = compiled(f)
        assert [entry(1), entry(2)] == [1, 2]
        strict = compiled(f, core.Context("eager", fullgraph=True))
        with pytest.raises(core.ReplacementError, match="co_argcount is 2, not 1"):
            strict(1)
    finally:
        testing.set_unchecked(False)
        testing.use_python_compiler(None)
    assert len([r for r in caplog.records if "co_argcount" in r.getMessage()]) == 1


def test_generator_and_module_code_cannot_replace():
    def f(x):
        return x

    def generator(x):
        yield x

    for code in (generator.__code__, compile("1", "m", "exec")):
        with pytest.raises(core.ReplacementError, match="plain function"):
            core.check_replacement(f.__code__, code)


def test_code_replaced_between_calls(mode):
    def f(x):
        return x

    def other(x):
        local = x * 2
        return local

    entry = compiled(f)
    assert entry(3) == 3
    f.__code__ = other.__code__
    assert entry(3) == 6
    entry.__code__ = (lambda x: x * 3).__code__
    assert f(3) == entry(3) == 9
    f.__code__ = (lambda: 0).__code__
    with pytest.raises(TypeError):
        entry(3)
    assert entry() == 0


def test_eval_exec_and_classes_inside(mode):
    def f(x):
        scope = {}
        exec("y = [i for i in range(3)]", scope)

        class Local:
            z = x

            def get(self):
                return self.z + eval("x", {"x": x})

        return Local().get(), scope["y"]

    assert compiled(f)(4) == (8, [0, 1, 2])


def test_on_call_replaces_without_a_frame_of_the_function():
    def f(a, b):
        return a, b

    def direct(a, b):
        return "direct", a, b, testing.hook_state()[0]

    asked = []

    def on_call(func, args):
        asked.append((func, args))
        return direct, False

    testing.use_python_compiler(None, on_call)
    try:
        entry = compiled(f)
        assert entry(1, 2) == ("direct", 1, 2, False)
        # Whatever needs binding takes the way over the hook.
        assert entry(1, b=2) == (1, 2)
        with pytest.raises(TypeError):
            entry(1)
    finally:
        testing.use_python_compiler(None)
    assert asked == [(f, (1, 2))]


def test_on_call_with_the_hook():
    def helper():
        return 1

    def helper_twin():
        return 2

    def f():
        return helper()

    def direct():
        return helper()

    testing.skip_always(direct.__code__)
    testing.use_python_compiler(
        lambda code, _: helper_twin.__code__ if code is helper.__code__ else None,
        lambda func, args: (direct, True),
    )
    try:
        assert compiled(f)() == 2
    finally:
        testing.use_python_compiler(None)


def test_disabled_inside_a_region():
    seen = []

    def leaf():
        return 1

    def inner():
        return leaf()

    entry_inner = core.make_disabled(inner)

    def f():
        return entry_inner() + leaf()

    def callback(code, _):
        seen.append(code.co_name)

    testing.use_python_compiler(callback)
    try:
        assert compiled(f)() == 2
    finally:
        testing.use_python_compiler(None)
    assert seen == ["f", "leaf"]
    assert entry_inner._torchdynamo_disable is True
    assert entry_inner._torchdynamo_orig_callable is inner


def test_compiled_inside_disabled_is_compiled():
    seen = []

    def leaf():
        return 1

    entry = compiled(leaf)
    disabled = core.make_disabled(lambda: entry())
    testing.use_python_compiler(lambda code, _: seen.append(code.co_name))
    try:
        assert compiled(lambda: disabled())() == 1
    finally:
        testing.use_python_compiler(None)
    assert seen == ["<lambda>", "leaf"]


def test_the_callback_is_not_captured_and_may_call_entries():
    def f(x):
        return x

    entry = compiled(f)
    seen = []

    def callback(code, arguments):
        seen.append(code.co_name)
        assert entry(5) == 5
        return None

    testing.use_python_compiler(callback)
    try:
        assert compiled(lambda: f(1))() == 1
    finally:
        testing.use_python_compiler(None)
    assert seen == ["<lambda>", "f"]


def test_nested_regions_have_their_own_context(mode):
    def leaf(x):
        return x + 1

    inner = compiled(leaf, core.Context("other"))

    def f(x):
        return inner(x) + leaf(x) + inner(x)

    assert compiled(f)(1) == 6


def test_signature_of_the_entry_is_the_functions():
    entry = compiled(variadic)
    assert inspect.signature(entry) == inspect.signature(variadic)
    assert CONTEXT.backend == "eager"
    assert twin(variadic.__code__) is not variadic.__code__

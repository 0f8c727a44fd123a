"""Bad input: an error of a named type, and a function that can still be used."""

from __future__ import annotations

import opcode
import pickle
import sys

import forked
import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
    from ferrodyn import _version, exc
pytestmark = pytest.mark.own
X = torch.ones(2)


def plus(x):
    return x + 1


def assert_usable(fn=plus):
    """The plain function works, and so does compiling it rightly."""
    assert torch.equal(fn(X), X + 1)
    assert torch.equal(ferrodyn.compile(fn, backend="eager")(X), X + 1)


def test_backend_that_raises():
    def backend(gm, inputs):
        raise ZeroDivisionError("from the backend")

    compiled = ferrodyn.compile(plus, backend=backend)
    for _ in range(2):
        with pytest.raises(exc.BackendCompilerFailed, match="from the backend") as caught:
            compiled(X)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert isinstance(caught.value.inner_exception, ZeroDivisionError)
        assert "backend" in str(caught.value)
    assert_usable()


def test_backend_that_raises_with_suppress_errors():
    def backend(gm, inputs):
        raise ZeroDivisionError("from the backend")

    with ferrodyn.config.patch(suppress_errors=True):
        assert torch.equal(ferrodyn.compile(plus, backend=backend)(X), X + 1)
    assert_usable()


@pytest.mark.parametrize("result", [None, 5, "text", X], ids=str)
def test_backend_that_returns_something_not_callable(result):
    compiled = ferrodyn.compile(plus, backend=lambda gm, inputs: result)
    with pytest.raises((exc.InvalidBackend, exc.BackendCompilerFailed), match="callable"):
        compiled(X)
    assert_usable()


def test_compiled_function_that_raises_or_returns_the_wrong_number():
    def raises(gm, inputs):
        def run(*args):
            raise KeyError("at run time")

        return run

    with pytest.raises(KeyError, match="at run time"):
        ferrodyn.compile(plus, backend=raises)(X)
    with pytest.raises((ValueError, TypeError, IndexError, exc.FerrodynError)):
        ferrodyn.compile(plus, backend=lambda gm, inputs: lambda *args: ())(X)
    with pytest.raises((ValueError, TypeError, IndexError, exc.FerrodynError)):
        ferrodyn.compile(plus, backend=lambda gm, inputs: lambda *args: 5)(X)
    assert_usable()


@pytest.mark.parametrize("backend", [5, [], object()], ids=["int", "list", "object"])
def test_backend_of_a_wrong_type(backend):
    with pytest.raises(exc.InvalidBackend, match="backend"):
        ferrodyn.compile(plus, backend=backend)
    assert_usable()


def test_unknown_backend_is_an_error_at_once():
    with pytest.raises(exc.InvalidBackend, match="no_such_backend"):
        ferrodyn.compile(plus, backend="no_such_backend")
    with pytest.raises(exc.InvalidBackend, match="inductr"):
        ferrodyn.optimize("inductr")
    assert_usable()


def test_mode_and_options_together():
    with pytest.raises(RuntimeError, match="mode and options"):
        ferrodyn.compile(plus, mode="default", options={"a": 1})


@pytest.mark.parametrize(
    "target", [5, "text", None.__class__, X, [plus]], ids=["int", "str", "type", "tensor", "list"]
)
def test_not_something_to_compile(target):
    with pytest.raises((exc.InvalidCallable, TypeError)):
        ferrodyn.compile(backend="eager")(target)


@pytest.mark.parametrize(
    "fn", [torch.sin, len, torch.Tensor.cos, "".join], ids=["sin", "len", "cos", "join"]
)
def test_callable_that_is_not_python(fn):
    """It works or is refused by name; it never crashes."""
    arguments = (["a", "b"],) if fn in (len, "".join) or fn.__name__ == "join" else (X,)
    expected = fn(*arguments)
    try:
        found = ferrodyn.compile(fn, backend="eager")(*arguments)
    except exc.InvalidCallable:
        return
    harness.assert_same(harness.Describer()(expected), harness.Describer()(found))


def _with_bytes(code_bytes: bytes):
    def victim(x):
        return x + 1

    victim.__code__ = victim.__code__.replace(co_code=code_bytes)
    return victim


def test_tampered_code_object():
    """Code that does not decode: refused under fullgraph, never a crash of the compiler."""

    def good(x):
        return x + 1

    code = bytes(good.__code__.co_code)
    # After the real return, a jump to nowhere: never run, but no compiler emits it.
    tampered = _with_bytes(code + bytes([opcode.opmap["JUMP_FORWARD"], 200]))
    with pytest.raises(exc.TamperedCodeError):
        ferrodyn.compile(tampered, backend="eager", fullgraph=True)(X)
    assert torch.equal(ferrodyn.compile(tampered, backend="eager")(X), X + 1)
    assert torch.equal(tampered(X), X + 1)
    assert_usable()


def test_tampered_tables():
    """A line table or an exception table that is rubbish does not stop a compilation."""

    def good(x):
        return x + 1

    for change in ({"co_linetable": b"\xff\xff\xff"}, {"co_exceptiontable": b"\xff\xff\x7f"}):
        fn = lambda x: x + 1  # noqa: E731
        fn.__code__ = good.__code__.replace(**change)
        try:
            found = ferrodyn.compile(fn, backend="eager")(X)
        except exc.TamperedCodeError:
            continue
        assert torch.equal(found, X + 1)
    assert_usable()


def test_replaced_code_is_seen():
    def fn(x):
        return x + 1

    def other(x):
        return x * 5

    compiled = ferrodyn.compile(fn, backend="eager")
    assert torch.equal(compiled(X), X + 1)
    fn.__code__ = other.__code__
    assert torch.equal(compiled(X), X * 5)


def test_error_on_recompile():
    compiled = ferrodyn.compile(plus, backend="eager")
    compiled(X)
    with ferrodyn.config.patch(error_on_recompile=True):
        compiled(X)
        with pytest.raises(exc.RecompileError, match="size mismatch"):
            compiled(torch.ones(5))
    assert_usable()


def test_recompile_limit_under_fullgraph():
    compiled = ferrodyn.compile(lambda x, n: x + n, backend="eager", fullgraph=True)
    with ferrodyn.config.patch(recompile_limit=2, automatic_dynamic_shapes=False):
        compiled(X, 0)
        compiled(X, 1)
        with pytest.raises(exc.FailOnRecompileLimitHit, match="recompile_limit"):
            compiled(X, 2)
        assert torch.equal(compiled(X, 0), X)


def test_guard_fail_fn_that_raises_does_not_stop_the_call():
    def told(fail):
        raise ValueError("in the hook")

    compiled = ferrodyn.optimize("eager", guard_fail_fn=told)(plus)
    assert torch.equal(compiled(X), X + 1)
    assert torch.equal(compiled(torch.ones(5)), torch.ones(5) + 1)


@pytest.mark.parametrize(
    ("version", "implementation", "gil"),
    [((3, 10, 1), "cpython", True), ((3, 16, 0), "cpython", True), ((3, 12, 0), "pypy", True),
     ((3, 13, 0), "cpython", False)],
)  # fmt: skip
def test_unsupported_python(version, implementation, gil):
    with pytest.raises(exc.UnsupportedPythonError, match=r"3\.11|interpreter lock"):
        _version.check_python(version, implementation, gil)
    _version.check_python()


def test_unsupported_torch():
    for version in ("2.9.1", "1.13.0+cpu", "unknown", "2"):
        with pytest.raises(exc.UnsupportedTorchError, match=r"2\.10"):
            _version.check_torch(version)
    for version in ("2.10.0", "2.15.0+cu132", "2.16.0.dev20270101", "3.0"):
        _version.check_torch(version)


def test_every_error_is_named_documented_and_pickles():
    for name in exc.__all__:
        kind = getattr(exc, name)
        assert issubclass(kind, exc.FerrodynError) and kind.__doc__
        raised = kind("text")
        loaded = pickle.loads(pickle.dumps(raised))
        assert isinstance(loaded, kind) and type(loaded) is type(raised) and str(loaded) == "text"
    error = exc.Unsupported("all of it", reason="r", hints=("a", "b"))
    loaded = pickle.loads(pickle.dumps(error))
    assert (loaded.reason, loaded.hints, str(loaded)) == ("r", ("a", "b"), "all of it")


def test_recursion_error_is_the_users():
    def deep(x, n):
        return deep(x + 1, n + 1)

    compiled = ferrodyn.compile(deep, backend="eager")
    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        compiled(X, 0)
    assert sys.getrecursionlimit() == limit
    assert_usable()


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("backend", ["eager", lambda graph, inputs: graph.forward])
def test_the_grad_mode_is_as_before_where_a_graph_fails_in_a_block(mode, backend):
    def fn(x, i):
        y = x * 2
        with torch.set_grad_enabled(not mode):
            z = y[i] + 1
        return z * y

    compiled = ferrodyn.compile(fn, backend=backend)
    x = torch.ones(3, requires_grad=True)
    with torch.set_grad_enabled(mode):
        for last in (1, 7, 2, 9):
            i = torch.tensor([0, 1, last])
            if last < 3:
                assert torch.equal(compiled(x, i), fn(x, i))
            else:
                with pytest.raises(IndexError, match="out of bounds"):
                    compiled(x, i)
            assert torch.is_grad_enabled() is mode


ALIKE = {
    "Unsupported": "Unsupported",
    "BackendCompilerFailed": "BackendCompilerFailed",
    "RecompileError": "RecompileError",
    "FailOnRecompileLimitHit": "FailOnRecompileLimitHit",
    "InvalidBackend": "InvalidBackend",
    "InternalError": "InternalTorchDynamoError",
}


@pytest.mark.parametrize("ours", ALIKE)
def test_an_exception_is_caught_by_the_name_that_torch_has_for_it(ours):
    import torch._dynamo.exc

    raised = getattr(ferrodyn.exc, ours)("the text")
    with pytest.raises(getattr(torch._dynamo.exc, ALIKE[ours]), match="the text"):
        raise raised
    assert isinstance(raised, getattr(ferrodyn.exc, ours)) and raised.msg == "the text"
    again = pickle.loads(pickle.dumps(raised))
    assert (type(again), again.args) == (type(raised), raised.args)


@pytest.mark.slow
def test_a_backend_that_raises_below_install_is_caught_by_torchs_name():
    """In a process of its own: nothing has imported torch._dynamo before the exception."""
    program = """if True:
        import sys, ferrodyn, torch

        def backend(graph, inputs):
            raise LookupError("none")

        with ferrodyn.install():
            fn = torch.compile(lambda x: x + 1, backend=backend)
            assert "torch._dynamo.exc" not in sys.modules
            try:
                fn(torch.ones(2))
            except torch._dynamo.exc.BackendCompilerFailed as error:
                print(type(error.inner_exception), error.backend_name)
    """
    done = forked.run(["-c", program])
    assert (done.stdout, done.stderr) == ("<class 'LookupError'> backend\n", "")

"""`torch.compiler.set_stance`, beside what torch.compile does of it."""

import ferrodyn
import forked
import pytest
import torch
from harness import Counting

X = torch.arange(6.0).reshape(2, 3)


def compilers():
    """Both compilers, each with a backend that counts graphs."""

    def with_torch(fn, backend):
        torch._dynamo.reset()
        return torch.compile(fn, backend=backend)

    return [with_torch, lambda fn, backend: ferrodyn.compile(fn, backend=backend)]


def program():
    """A function that says in which way it ran."""

    def f(x):
        return x + 1 if torch.compiler.is_compiling() else x - 1

    return f


COMPILED, EAGER = X + 1, X - 1


@pytest.fixture(params=[0, 1], ids=["torch", "ferrodyn"])
def compiler(request):
    yield compilers()[request.param]
    torch.compiler.set_stance("default")


def test_force_eager_holds_for_compiled_code(compiler):
    backend = Counting()
    f = compiler(program(), backend)
    assert torch.equal(f(X), COMPILED)
    torch.compiler.set_stance("force_eager")
    for _ in range(3):
        assert torch.equal(f(X), EAGER)
    torch.compiler.set_stance("default")
    assert torch.equal(f(X), COMPILED)
    assert backend.graphs == 1


def test_force_eager_as_context_and_decorator(compiler):
    backend = Counting()
    f = compiler(program(), backend)
    with torch.compiler.set_stance("force_eager"):
        assert torch.equal(f(X), EAGER)
    assert torch.equal(f(X), COMPILED)

    @torch.compiler.set_stance("force_eager")
    def outer(x):
        return f(x)

    assert torch.equal(outer(X), EAGER)
    assert torch.equal(f(X), COMPILED)
    assert backend.graphs == 1


def test_force_eager_holds_for_modules_and_what_they_call(compiler):
    class Inner(torch.nn.Module):
        def forward(self, x, *, scale=1):
            return x + scale if torch.compiler.is_compiling() else x - scale

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x, *, scale=1):
            print(end="")
            return self.inner(x, scale=scale)

    f = compiler(Outer(), Counting())
    for _ in range(2):
        assert torch.equal(f(X, scale=1), COMPILED)
        with torch.compiler.set_stance("force_eager"):
            assert torch.equal(f(X, scale=1), EAGER)


def test_eager_on_recompile(compiler):
    backend = Counting()
    f = compiler(program(), backend)
    assert torch.equal(f(X), COMPILED)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert torch.equal(f(X), COMPILED)
        assert torch.equal(f(X.double()), EAGER.double())
    assert torch.equal(f(X.double()), COMPILED.double())
    assert backend.graphs == 2


def test_fail_on_recompile(compiler):
    f = compiler(program(), Counting())
    assert torch.equal(f(X), COMPILED)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert torch.equal(f(X), COMPILED)
        with pytest.raises(RuntimeError, match="recompile"):
            f(X.double())
    assert torch.equal(f(X.double()), COMPILED.double())


def test_force_backend(compiler):
    backend, other = Counting(), Counting()
    f = compiler(program(), backend)
    assert torch.equal(f(X), COMPILED)
    with torch.compiler.set_stance(force_backend=other):
        assert torch.equal(f(X), COMPILED)
        assert torch.equal(f(X), COMPILED)
    assert torch.equal(f(X), COMPILED)
    assert (backend.graphs, other.graphs) == (1, 1)
    with torch.compiler.set_stance(force_backend="eager"):
        assert torch.equal(f(X), COMPILED)
    assert (backend.graphs, other.graphs) == (1, 1)


def test_force_backend_for_what_breaks(compiler):
    backend, other = Counting(), Counting()

    @torch.compiler.disable
    def outside():
        pass

    def f(x):
        y = x + 1
        outside()
        return y * 2

    compiled = compiler(f, backend)
    with torch.compiler.set_stance(force_backend=other):
        for _ in range(2):
            assert torch.equal(compiled(X), (X + 1) * 2)
    assert (backend.graphs, other.graphs) == (0, 2)


def test_eager_then_compile(compiler):
    backend = Counting()
    f = compiler(program(), backend)
    with torch.compiler.set_stance("eager_then_compile"):
        assert torch.equal(f(X), EAGER)
        assert backend.graphs == 0
        assert torch.equal(f(X), COMPILED)
        assert torch.equal(f(X), COMPILED)
    assert backend.graphs == 1


def test_eager_then_compile_infers_sizes(compiler):
    # torch remembers first calls by file and line, so this is a function of its own.
    def fn(x):
        return x + 1 if torch.compiler.is_compiling() else x - 1

    backend = Counting()
    f = compiler(fn, backend)
    with torch.compiler.set_stance("eager_then_compile"):
        assert torch.equal(f(torch.ones(4)), torch.zeros(4))
        for n in range(5, 9):
            assert torch.equal(f(torch.ones(n)), torch.ones(n) * 2)
    assert backend.graphs == 1


def test_eager_then_compile_infers_sizes_in_containers(compiler):
    def fn(given, pair):
        return given["x"][0] * pair[1]

    backend = Counting()
    f = compiler(fn, backend)
    with torch.compiler.set_stance("eager_then_compile"):
        for n in range(4, 9):
            assert torch.equal(f({"x": [torch.ones(n)]}, (0, n)), torch.ones(n) * n)
    assert backend.graphs == 1


@pytest.mark.slow
def test_a_stance_of_the_first_call():
    # The tracer is imported by the call that sets the stance, after the function was compiled.

    text = """
import sys, torch, ferrodyn
assert "torch._dynamo.eval_frame" not in sys.modules
def f(x):
    return x + 1 if torch.compiler.is_compiling() else x - 1
f = ferrodyn.compile(f, backend=lambda graph, inputs: graph.forward)
x = torch.ones(2)
assert f(x)[0] == 2
assert "torch._dynamo.eval_frame" not in sys.modules
torch.compiler.set_stance("force_eager")
assert f(x)[0] == 0
torch.compiler.set_stance("default")
assert f(x)[0] == 2
"""
    forked.run(["-c", text], check=True)

"""The public interface: compile in every form, disable, explain, backends, reset."""

from __future__ import annotations

import copy
import functools
import gc
import importlib.metadata
import inspect
import operator
import pickle
import sys
import weakref

import harness
import pytest
import torch

ferrodyn = pytest.importorskip("ferrodyn") if not harness.REFERENCE else None
pytestmark = pytest.mark.own


def add(x, y=1):
    """Adds."""
    return x + y


@pytest.mark.parametrize(
    ("target", "args"),
    [
        (torch.sin, (torch.ones(2),)),
        (torch.Tensor.cos, (torch.ones(2),)),
        (torch.nn.functional.gelu, (torch.ones(2),)),
        (operator.mul, (torch.ones(2), 3)),
        (functools.partial(torch.add, alpha=2), (torch.ones(2), torch.ones(2))),
        (torch.ops.aten.relu, (torch.ones(2),)),
        (torch.ops.aten.relu.default, (torch.ones(2),)),
    ],
    ids=["function", "method", "functional", "operator", "partial", "packet", "overload"],
)
def test_a_callable_without_python_code_is_compiled(target, args):
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(target, backend=recorder, fullgraph=True)
    assert torch.equal(compiled(*args), target(*args))
    assert recorder.ops() == [1]
    assert getattr(compiled, "__name__", None) == getattr(target, "__name__", "call")


def test_each_callable_without_python_code_has_a_limit_of_its_own():
    recorder = harness.Recorder()
    names = ["sin", "cos", "tan", "exp", "sqrt", "neg", "floor", "ceil"]
    with ferrodyn.config.patch(recompile_limit=2):
        for name in names:
            ferrodyn.compile(getattr(torch, name), backend=recorder)(torch.ones(2))
    assert len(recorder.graphs) == len(names)


def test_grad_modes_that_are_set_back_at_once_are_left_out():
    def blocks(x, y):
        with torch.no_grad():
            a = x * 2
        with torch.no_grad():
            b = a + y
        return x * b

    recorder = harness.Recorder()
    ferrodyn.compile(blocks, backend=recorder)(torch.ones(2, requires_grad=True), torch.ones(2))
    modes = [n.args[0] for n in recorder.graphs[0].graph.nodes if "grad" in n.name]
    assert modes == [False, True]


def test_names_and_version():
    for name in ferrodyn.__all__:
        assert hasattr(ferrodyn, name), name
    assert ferrodyn.__version__ == importlib.metadata.version("ferrodyn")


def test_signature_of_compile():
    parameters = inspect.signature(ferrodyn.compile).parameters
    defaults = {name: p.default for name, p in parameters.items()}
    assert defaults == {
        "model": None, "fullgraph": False, "dynamic": None, "backend": None,
        "mode": None, "options": None, "name": None, "disable": False,
        "recompile_limit": None, "isolate_recompiles": False, "dynamic_shapes": None,
    }  # fmt: skip
    assert all(p.kind is p.KEYWORD_ONLY for n, p in parameters.items() if n != "model")


def test_as_call_and_as_decorator_with_and_without_arguments():
    recorder = harness.Recorder()

    @ferrodyn.compile(backend=recorder, fullgraph=True)
    def one(x):
        return x + 1

    two = ferrodyn.compile(lambda x: x + 2, backend=recorder)
    three = ferrodyn.optimize(recorder)(lambda x: x + 3)
    four = ferrodyn.optimize_assert(recorder)(lambda x: x + 4)
    five = functools.partial(ferrodyn.compile, backend=recorder)(lambda x: x + 5)
    for n, f in enumerate((one, two, three, four, five), 1):
        assert torch.equal(f(torch.zeros(2)), torch.full((2,), float(n)))
    assert len(recorder.graphs) == 5


def test_entry_keeps_what_functions_have():
    compiled = ferrodyn.compile(add, backend="eager")
    assert compiled.__name__ == "add" and compiled.__doc__ == "Adds."
    assert compiled.__wrapped__ is add and compiled.__module__ == add.__module__
    assert inspect.signature(compiled) == inspect.signature(add)
    compiled.note = 5
    assert compiled.note == 5
    assert weakref.ref(compiled)() is compiled


def test_methods_static_and_class_methods():
    recorder = harness.Recorder()
    compile = ferrodyn.compile(backend=recorder)

    class A:
        k = 2

        @compile
        def method(self, x):
            return x * self.k

        @staticmethod
        @compile
        def static(x):
            return x + 1

        @classmethod
        @compile
        def of_class(cls, x):
            return x + cls.k

        @compile
        @staticmethod
        def static_inside(x):
            return x + 3

    a, x = A(), torch.ones(2)
    assert torch.equal(a.method(x), x * 2)
    assert torch.equal(A.static(x), x + 1) and torch.equal(a.static(x), x + 1)
    assert torch.equal(A.of_class(x), x + 2) and torch.equal(a.static_inside(x), x + 3)
    assert len(recorder.graphs) >= 4


def test_a_class_is_compiled_through_its_call():
    recorder = harness.Recorder()

    @ferrodyn.compile(backend=recorder)
    class Scale(torch.nn.Module):
        def forward(self, x):
            return x * 3

    assert isinstance(Scale, type)
    assert torch.equal(Scale()(torch.ones(2)), torch.full((2,), 3.0))
    assert len(recorder.graphs) == 1


def test_disable_argument_returns_the_function_itself():
    assert ferrodyn.compile(add, disable=True) is add
    assert ferrodyn.compile(disable=True)(add) is add
    assert ferrodyn.optimize("eager", disable=True)(add) is add


def test_disable_keeps_a_function_out_of_the_graph():
    recorder = harness.Recorder()
    compiling = []

    @ferrodyn.disable
    def out(x):
        compiling.append(ferrodyn.is_compiling())
        return x * 2

    @ferrodyn.disable(reason="it is slow")
    def reasoned(x):
        return x - 1

    def f(x):
        y = x + 1
        y = out(y)
        y = reasoned(y + 1)
        return y + 3

    x = torch.ones(2)
    with harness.captured_logs("graph_breaks") as records:
        assert torch.equal(ferrodyn.compile(f, backend=recorder)(x), f(x))
    assert [
        len(ops)
        for ops in ([n for n in g.graph.nodes if n.op.startswith("call")] for g in recorder.graphs)
    ] == [1, 1, 1]
    assert compiling == [False, False]
    assert any("it is slow" in text for _, text in records)


def test_graph_break_and_is_compiling():
    recorder = harness.Recorder()

    def f(x):
        y = x + (1 if ferrodyn.is_compiling() else 2)
        ferrodyn.graph_break("here")
        return y * 2

    assert ferrodyn.is_compiling() is False
    ferrodyn.graph_break()
    with harness.captured_logs("graph_breaks") as records:
        assert torch.equal(
            ferrodyn.compile(f, backend=recorder)(torch.ones(1)), torch.tensor([4.0])
        )
    assert len(recorder.graphs) == 2
    assert any("here" in text for _, text in records)
    with pytest.raises(ferrodyn.exc.Unsupported):
        ferrodyn.compile(f, backend="eager", fullgraph=True)(torch.ones(1))


def test_torch_markers_are_honoured():
    def f(x):
        return x + (1 if torch.compiler.is_compiling() else 2)

    assert ferrodyn.compile(f, backend="eager")(torch.zeros(1)).item() == 1
    assert f(torch.zeros(1)).item() == 2


def test_reset_forgets():
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(add, backend=recorder)
    compiled(torch.ones(2))
    compiled(torch.ones(2))
    assert len(recorder.graphs) == 1
    ferrodyn.reset()
    compiled(torch.ones(2))
    assert len(recorder.graphs) == 2


def test_two_backends_do_not_share_code():
    one, two = harness.Recorder(), harness.Recorder()
    first, second = ferrodyn.compile(add, backend=one), ferrodyn.compile(add, backend=two)
    for _ in range(3):
        first(torch.ones(2))
        second(torch.ones(2))
    assert (len(one.graphs), len(two.graphs)) == (1, 1)


def test_layers_compiled_one_by_one_share_code():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.linear(x).relu()

    recorder = harness.Recorder()
    layers = [Layer() for _ in range(12)]
    compiled = [ferrodyn.compile(layer, backend=recorder) for layer in layers]
    x = torch.ones(2, 3)
    for layer, c in zip(layers, compiled, strict=True):
        assert torch.equal(c(x), layer(x))
    assert len(recorder.graphs) <= 2, "the second takes parameters for inputs"


def test_backends_by_name():
    names = ferrodyn.list_backends()
    assert names == sorted(names) and "inductor" in names
    assert "eager" not in names and "eager" in ferrodyn.list_backends(())
    assert "aot_eager" in ferrodyn.list_backends(exclude_tags=())
    for name in ("eager", "aot_eager"):
        assert torch.equal(ferrodyn.compile(add, backend=name)(torch.ones(2)), torch.ones(2) + 1)


def test_register_backend():
    calls = []

    @ferrodyn.register_backend(name="test_api_one", tags=("experimental",))
    def backend(gm, inputs):
        calls.append(len(inputs))
        return gm.forward

    assert "test_api_one" not in ferrodyn.list_backends()
    assert "test_api_one" in ferrodyn.list_backends(exclude_tags=())
    ferrodyn.compile(lambda x: x + 1, backend="test_api_one")(torch.ones(2))
    assert calls == [1]
    with pytest.raises(ferrodyn.exc.InvalidBackend):
        ferrodyn.register_backend(lambda gm, inputs: gm, name="test_api_one")
    with pytest.raises(ferrodyn.exc.InvalidBackend):
        ferrodyn.register_backend(5, name="test_api_two")


def test_backend_gets_a_graph_module_and_real_inputs():
    got = []

    def backend(gm, inputs):
        got.append((gm, inputs))
        return gm.forward

    x = torch.randn(3)
    ferrodyn.compile(add, backend=backend)(x)
    ((gm, inputs),) = got
    assert isinstance(gm, torch.fx.GraphModule)
    assert isinstance(inputs, (list, tuple)) and len(inputs) == 1
    assert isinstance(inputs[0], torch.Tensor) and inputs[0].shape == (3,)
    (result,) = gm(x)
    assert torch.equal(result, x + 1)
    assert "def forward" in gm.code and "+ 1" in gm.code.replace("operator.add", "+ 1")


def test_forward_is_that_of_the_graph_as_the_backend_left_it():
    def untouched(graph):
        pass

    def target(graph):
        next(n for n in graph.nodes if n.op == "call_function").target = operator.sub

    def arguments(graph):
        next(n for n in graph.nodes if n.op == "call_function").update_arg(1, 5)

    def node(graph):
        output = next(iter(reversed(graph.nodes)))
        with graph.inserting_before(output):
            output.args = ((graph.call_function(operator.neg, output.args[0]),),)

    def code(graph):
        graph.on_generate_code(lambda _: lambda body: [part.replace("+ 1", "+ 6") for part in body])

    x = torch.ones(2)
    for edit, result in [(untouched, 2), (target, 0), (arguments, 6), (node, -2), (code, 7)]:
        for recompile in (False, True):
            modules = []

            def backend(gm, inputs, edit=edit, recompile=recompile, modules=modules):
                modules.append(gm)
                edit(gm.graph)
                if recompile:
                    gm.recompile()
                return gm.forward

            compiled = ferrodyn.compile(add, backend=backend)
            for _ in range(2):
                assert torch.equal(compiled(x), torch.full((2,), float(result))), edit
            (gm,) = modules
            assert "def forward" in gm.code and gm(x)[0] is not None
            # The module is torch's: copies, pickles and further edits work.
            copy.deepcopy(gm)(x)
            pickle.loads(pickle.dumps(gm))(x)
            node(gm.graph)
            gm.recompile()
            assert "neg" in gm.code


def test_backend_may_return_any_callable():
    class Runner:
        def __call__(self, x):
            return (x * 100,)

    compiled = ferrodyn.compile(add, backend=lambda gm, inputs: Runner())
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 100.0))
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 100.0))


def test_explain():
    def f(x):
        y = x + 1
        sys.stdout.write("break\n")
        return (y * 2).sum()

    out = ferrodyn.explain(f)(torch.ones(3))
    assert out.graph_count == len(out.graphs) == 2 and out.graph_break_count == 1
    assert out.op_count == 3 and [len(ops) for ops in out.ops_per_graph] == [1, 2]
    assert len(out.break_reasons) == 1
    assert any(
        "write" in line for line in [out.break_reasons[0].reason, *out.break_reasons[0].user_stack]
    )
    assert out.out_guards and out.compile_times and out.instruction_counts
    assert out.fake_tensor_ops == {}
    text = str(out)
    for part in ("Graph Count: 2", "Graph Break Count: 1", "Op Count: 3", "Break Reason 1:"):
        assert part in text
    # It also takes what is compiled already, and leaves that as it is.
    recorder = harness.Recorder()
    compiled = ferrodyn.compile(f, backend=recorder)
    compiled(torch.ones(3))
    assert ferrodyn.explain(compiled)(torch.ones(3)).graph_count == 2
    compiled(torch.ones(3))
    assert len(recorder.graphs) == 2


def test_collected_with_its_function():
    def make():
        def f(x):
            return x + 1

        return f

    f = make()
    compiled = ferrodyn.compile(f, backend="eager")
    compiled(torch.ones(2))
    dead = weakref.ref(f)
    del f, compiled
    gc.collect()
    assert dead() is None


def test_compiled_function_calls_another():
    one, two = harness.Recorder(), harness.Recorder()

    @ferrodyn.compile(backend=one)
    def inner(x):
        return x * 2

    @ferrodyn.compile(backend=two)
    def outer(x):
        return inner(x) + 1

    for _ in range(2):
        assert torch.equal(outer(torch.ones(2)), torch.full((2,), 3.0))
    assert len(two.graphs) == 1 and not one.graphs

"""What a backend of which nothing is known finds when it looks, from its first graph on."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref

import harness
import pytest
import torch

if not harness.REFERENCE:
    import ferrodyn
pytestmark = pytest.mark.own


def fn(x, w):
    return (x @ w).relu()


def inputs():
    return torch.ones(2, 3), torch.nn.Parameter(torch.ones(3, 4))


def shapes(gm):
    return {
        node.name: tuple(value.shape)
        for node in gm.graph.nodes
        if (value := node.meta.get("example_value")) is not None
    }


SHAPES = {"x": (2, 3), "w": (3, 4), "matmul": (2, 4), "relu": (2, 4)}


def test_nodes_and_contexts_in_the_first_call():
    found = {}

    def backend(gm, example_inputs):
        found["shapes"] = shapes(gm)
        found["keys"] = {node.name: set(node.meta) for node in gm.graph.nodes}
        mode = torch._guards.detect_fake_mode(example_inputs)
        found["modes"] = {
            type(mode).__name__,
            type(torch._guards.TracingContext.get().fake_mode).__name__,
        }
        found["id"] = torch._guards.CompileContext.current_compile_id() is not None
        return gm.forward

    x, w = inputs()
    assert torch.equal(ferrodyn.compile(fn, backend=backend)(x, w), fn(x, w))
    assert found["shapes"] == SHAPES
    assert {"example_value", "tensor_dict", "grapharg"} <= found["keys"]["x"]
    assert {"example_value", "source_fn_stack", "stack_trace"} <= found["keys"]["matmul"]
    assert (found["modes"], found["id"]) == ({"FakeTensorMode"}, True)
    assert torch._guards.TracingContext.try_get() is None


def test_nodes_know_the_modules_that_made_them():
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    found = {}

    def backend(gm, example_inputs):
        for node in gm.graph.nodes:
            stack = node.meta.get("nn_module_stack", {})
            kinds = [
                (path.removeprefix("L['net']"), kind.__name__) for path, kind in stack.values()
            ]
            found[node.name] = kinds, [key.partition("@")[2] for key in stack]
        return gm.forward

    def fn(x, net):
        return net(net(x)) + 1

    ferrodyn.compile(fn, backend=backend)(torch.ones(2, 3), net)
    first = [("", "Sequential"), (".0", "Linear")]
    second = [("", "Sequential"), (".1", "ReLU")]
    assert found["x"] == (first, ["", ""])
    assert (found["linear"], found["relu"]) == ((first, ["", ""]), (second, ["", ""]))
    assert (found["linear_1"], found["relu_1"]) == ((first, ["1", "1"]), (second, ["1", "1"]))
    assert found["add"] == ([], [])


def test_the_mode_alone_is_enough_to_look_at():
    """As a backend does it that traces the graph by torch's own functions."""
    from torch._functorch.aot_autograd import aot_export_joint_simple

    def backend(gm, example_inputs):
        mode = torch._guards.detect_fake_mode(example_inputs)
        with mode:
            mode.allow_non_fake_inputs = True
            return aot_export_joint_simple(gm, example_inputs, trace_joint=False)

    x, w = inputs()
    w = w.detach()
    assert torch.equal(ferrodyn.compile(fn, backend=backend)(x, w), fn(x, w))


def kept_graph():
    kept = []

    def backend(gm, example_inputs):
        kept.append(gm)
        return gm

    args = inputs()
    ferrodyn.compile(fn, backend=backend)(*args)
    return kept[0], args


def test_a_graph_that_is_looked_at_later():
    gm, _ = kept_graph()
    assert shapes(gm) == SHAPES
    assert shapes(copy.deepcopy(gm)) == SHAPES


def test_a_copy_is_looked_at_first():
    gm, _ = kept_graph()
    copied = copy.deepcopy(gm)
    assert shapes(copied) == SHAPES
    assert shapes(gm) == SHAPES
    other = torch.fx.GraphModule(gm, copy.copy(gm.graph))
    assert shapes(other) == SHAPES


def test_a_graph_keeps_no_input_alive():
    gm, (x, w) = kept_graph()
    # torch exchanges no tensor that is referred to weakly.
    assert [weakref.getweakrefcount(tensor) for tensor in (x, w)] == [0, 0]
    gone = [weakref.ref(x), weakref.ref(w)]
    del x, w
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert shapes(gm) == SHAPES
    (relu,) = gm.graph.find_nodes(op="call_method", target="relu")
    assert relu.meta["example_value"].requires_grad


def test_a_graph_that_the_backend_sets_anew():
    def backend(gm, example_inputs):
        gm.graph = torch.fx.symbolic_trace(lambda x, w: (x @ w + 1,)).graph
        gm.recompile()
        return gm

    x, w = inputs()
    assert torch.equal(ferrodyn.compile(fn, backend=backend)(x, w), x @ w + 1)


def test_nothing_is_imported_for_who_does_not_look():
    program = """if True:
        import sys, torch, ferrodyn

        def backend(gm, example_inputs):
            assert len(gm.graph.nodes) == 4 and "relu" in gm.code
            return gm

        fn = ferrodyn.compile(lambda x: (x + 1).relu(), backend=backend)
        fn(torch.ones(2))
        print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")

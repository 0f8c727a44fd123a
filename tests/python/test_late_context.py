"""What a backend of which nothing is known finds when it looks, from its first graph on."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import forked
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
    done = forked.run(["-c", program])
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


LOOKS = {
    "copy": lambda gm: list(copy.copy(gm._graph).nodes),
    "deep copy of the module": lambda gm: copy.deepcopy(gm).graph.lint(),
    "copy of the module": lambda gm: copy.copy(gm).graph.lint(),
    "pickle": lambda gm: pickle.loads(pickle.dumps(gm)).graph.lint(),
    "length": lambda gm: len(gm._graph.nodes),
    "text": lambda gm: gm.print_readable(print_output=False),
    "call": lambda gm: gm(*inputs()),
    "new node": lambda gm: gm._graph.erase_node(gm._graph.call_function(torch.relu)),
    "search": lambda gm: gm._graph.find_nodes(op="call_method", target="relu"),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_nodes_are_made_at_the_first_look(look):
    kept = []

    def backend(gm, example_inputs):
        kept.append(gm)
        look(gm)
        return gm.forward

    x, w = inputs()
    assert torch.equal(ferrodyn.compile(fn, backend=backend)(x, w), fn(x, w))
    (gm,) = kept
    assert type(gm._graph) is torch.fx.Graph
    assert [node.name for node in gm.graph.nodes] == [*SHAPES, "output"]
    gm.graph.lint()


@pytest.mark.parametrize("field", ["graph", "_graph"])
def test_a_graph_that_was_changed_at_the_first_look_is_run_as_changed(field):
    def backend(gm, example_inputs):
        (relu,) = getattr(gm, field).find_nodes(op="call_method", target="relu")
        relu.target = "sigmoid"
        return gm.forward

    x, w = inputs()
    assert torch.equal(ferrodyn.compile(fn, backend=backend)(x, w), (x @ w).sigmoid())


def test_a_graph_that_nobody_has_read_is_read_later():
    kept = []

    def backend(gm, example_inputs):
        kept.append(gm)
        return gm.forward

    x, w = inputs()
    ferrodyn.compile(fn, backend=backend)(x, w)
    (gm,) = kept
    assert isinstance(gm._graph, torch.fx.Graph)
    assert torch.equal(gm(x, w)[0], fn(x, w))
    assert type(gm._graph) is torch.fx.Graph
    with pytest.raises(AttributeError, match="no_such_attribute"):
        gm._graph.no_such_attribute
